"""Literals that are bit patterns: of signed types in constructors, of complements beside unsigned numbers.

The oracle is NumPy with the literal's bits: the literal itself, cut to the width. Whatever is no such pattern is
refused, because it is no number of the type and only a mistake would give it one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import triptych as tt
import triptych.cute as cute
from triptych.metastage.trace.errors import LiteralRangeError
from triptych.metastage.values.scalars import NUMERIC_CLASSES

WIDTHS = (8, 16, 32, 64)
UNSIGNED, SIGNED = [f"Uint{width}" for width in WIDTHS], [f"Int{width}" for width in WIDTHS]
BITWISE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
OTHERS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv}


def values(width: int) -> list[int]:
    """Bits of a width: corners, single bits, and patterns of both."""
    ones = (1 << width) - 1
    single = [1 << bit for bit in (0, 1, width // 2, width - 2, width - 1)]
    return sorted({0, 1, 2, 5, ones, ones - 1, ones // 3, ones // 5, *single, *(ones ^ bit for bit in single)})


def numpy_type(name: str) -> Any:
    return np.dtype(name.lower()).type


def wrapped(value: int, name: str) -> Any:
    """NumPy's number of the type that has the bits of a literal."""
    width = NUMERIC_CLASSES[name].width
    return np.array([value & ((1 << width) - 1)], f"uint{width}").view(name.lower())[0]


def bound_to(constant: int, op: Callable[[Any, Any], Any], mirrored: bool) -> Callable[[Any], Any]:
    return (lambda a: op(constant, a)) if mirrored else (lambda a: op(a, constant))


# constructors -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*SIGNED, "Int4", "Int128"])
def test_a_constructor_takes_the_bits_of_its_type(name: str) -> None:
    cls = NUMERIC_CLASSES[name]
    for bits in values(cls.width):
        expected = bits - (1 << cls.width) if bits >> (cls.width - 1) else bits
        assert int(cls(bits)) == expected
        assert int(cls(expected)) == expected
        if cls.width in WIDTHS:
            assert expected == wrapped(bits, name)


@pytest.mark.parametrize("name", SIGNED)
def test_in_compiled_code_as_outside(name: str) -> None:
    cls = NUMERIC_CLASSES[name]
    patterns = values(cls.width)

    def constants(zero: Any) -> Any:
        return tuple(cls(bits) + zero for bits in patterns)

    assert list(tt.compile(constants, cls(0))(0)) == [wrapped(bits, name) for bits in patterns]


@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED, "Int4", "Int128", "Uint128"])
def test_what_has_more_bits_is_refused(name: str) -> None:
    cls = NUMERIC_CLASSES[name]
    low = -(1 << (cls.width - 1)) if name.startswith("Int") else 0
    for outside in (1 << cls.width, (1 << cls.width) + 5, 1 << 200, low - 1, -(1 << 200)):
        with pytest.raises(LiteralRangeError):
            cls(outside)


@pytest.mark.parametrize("name", SIGNED)
def test_a_float_is_no_bit_pattern(name: str) -> None:
    with pytest.raises(LiteralRangeError):
        NUMERIC_CLASSES[name](float(1 << (NUMERIC_CLASSES[name].width - 1)))


# operators of bits ------------------------------------------------------------------------------------------------
@cache
def all_operators(name: str) -> Any:
    """Every operator of bits with the complement of every value, on both sides."""
    complements = [~bits for bits in values(NUMERIC_CLASSES[name].width)]

    def f(a: Any) -> Any:
        return tuple(bound_to(c, op, side)(a) for c in complements for op in BITWISE.values() for side in (False, True))

    return tt.compile(f, NUMERIC_CLASSES[name](0))


@pytest.mark.parametrize("name", UNSIGNED)
def test_complements_beside_unsigned_numbers(name: str) -> None:
    width = NUMERIC_CLASSES[name].width
    kind, native = numpy_type(name), all_operators(name)
    for number in values(width):
        literals = (wrapped(~bits, name) for bits in values(width))
        expected = [op(kind(number), bits) for bits in literals for op in BITWISE.values() for _ in range(2)]
        assert list(native(number)) == expected


@pytest.mark.parametrize("name", UNSIGNED)
def test_and_is_what_python_gives(name: str) -> None:
    """No bit beyond the width is set in an unsigned number, so clearing bits is exact."""
    width = NUMERIC_CLASSES[name].width
    native = tt.compile(lambda a: tuple(a & ~(1 << bit) for bit in range(width)), NUMERIC_CLASSES[name](0))
    for number in values(width):
        assert list(native(number)) == [number & ~(1 << bit) for bit in range(width)]


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("op", BITWISE.values(), ids=BITWISE)
def test_vectors_of_unsigned_numbers(name: str, op: Callable[[Any, Any], Any]) -> None:
    cls = NUMERIC_CLASSES[name]
    literal = ~(1 << (cls.width - 1))

    @cute.jit
    def f(x: cute.Tensor, out: cute.Tensor) -> None:
        out.store(op(x.load(), literal))

    given = np.array(values(cls.width)[:8], name.lower())
    out = np.zeros_like(given)
    f(cute.runtime.from_dlpack(given), cute.runtime.from_dlpack(out))
    assert out.tolist() == op(given, wrapped(literal, name)).tolist()


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("op", BITWISE.values(), ids=BITWISE)
def test_what_is_the_complement_of_no_number_is_refused(name: str, op: Callable[[Any, Any], Any]) -> None:
    width = NUMERIC_CLASSES[name].width
    for literal in (1 << width, ~(1 << width), -(1 << 200)):
        for side in (False, True):
            with pytest.raises(LiteralRangeError):
                tt.compile(bound_to(literal, op, side), NUMERIC_CLASSES[name](0))


# everything else --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.parametrize("op", [*BITWISE.values(), *OTHERS.values()], ids=[*BITWISE, *OTHERS])
def test_beside_signed_numbers_python_would_give_another_number(name: str, op: Callable[[Any, Any], Any]) -> None:
    """`x & 0xFFFFFFFF` makes an unsigned number in Python; in a signed type it would do nothing."""
    cls = NUMERIC_CLASSES[name]
    for literal in ((1 << cls.width) - 1, 1 << (cls.width - 1), ~(1 << (cls.width - 1))):
        with pytest.raises(LiteralRangeError) as raised:
            tt.compile(bound_to(literal, op, False), cls(0))
        assert (f"{name}({literal:#x}) for these bits" in str(raised.value)) == (literal > 0)


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("op", OTHERS.values(), ids=OTHERS)
def test_arithmetic_takes_no_bits(name: str, op: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(LiteralRangeError):
        tt.compile(bound_to(-1, op, False), NUMERIC_CLASSES[name](0))


@tt.jit
def doubled(x: tt.Int32) -> Any:
    return x * 2


@tt.kernel
def keep(out: cute.Tensor, n: Any) -> None:
    out[0] = n


@tt.jit
def declares() -> Any:
    n: tt.Int32 = 0xFFFFFFFF  # type: ignore[assignment]
    return n


@tt.jit
def calls() -> Any:
    return doubled(0xFFFFFFFF)


@tt.jit
def stores(out: cute.Tensor) -> None:
    out[0] = 0xFFFFFFFF


@tt.jit
def launches(out: cute.Tensor) -> None:
    keep(out, 0xFFFFFFFF).launch(grid=1, block=1)


@tt.jit
def counts(n: tt.Int64) -> Any:
    total = 0
    for _ in range(n, 2**63 + 5, 2**62):
        total += 1
    return total


def test_a_literal_whose_type_is_written_elsewhere_has_to_fit() -> None:
    out = np.zeros(1, np.int32)
    calling: list[tuple[Any, tuple[Any, ...]]] = [
        (doubled, (0xFFFFFFFF,)),
        (declares, ()),
        (calls, ()),
        (stores, (out,)),
        (launches, (out,)),
        (counts, (0,)),
    ]
    for function, arguments in calling:
        with pytest.raises(OverflowError):
            function(*arguments)
