"""Integer operators against Python's unbounded integers: the exact result, wrapped into the type of the result."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from tests.unit.metastage.compiled import INTEGERS, bounds, compiled, integers, outcome, pairs, wrap
from triptych.metastage.values.promotion import TYPES, arithmetic, join

EXAMPLES = 40
"""For each type or pair of types; a corner is drawn every other time."""

ARITHMETIC: tuple[Callable[[Any, Any], Any], ...] = (operator.add, operator.sub, operator.mul)
BITWISE: tuple[Callable[[Any, Any], Any], ...] = (operator.and_, operator.or_, operator.xor)
COMPARISONS: tuple[Callable[[Any, Any], Any], ...] = (
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
)
each_type = pytest.mark.parametrize("name", INTEGERS)
each_pair = pytest.mark.parametrize(("left", "right"), list(pairs(("Boolean", *INTEGERS))))


def fitting(value: Any) -> Any:
    """128-bit results cannot be returned; their low half can."""
    return value.to(tt.Int64) if value.width > 64 else value


def every_operator(a: Any, b: Any) -> Any:
    return (
        *(fitting(op(a, b)) for op in ARITHMETIC),
        *(fitting(op(a, b)) for op in BITWISE),
        *(op(a, b) for op in COMPARISONS),
    )


def result_of(table: Callable[[str, str], str | None], left: str, right: str) -> str:
    name = table(left, right)
    assert name is not None
    return name if TYPES[name].width <= 64 else "Int64"


def drawn(name: str) -> st.SearchStrategy[Any]:
    return st.booleans() if name == "Boolean" else integers(name)


@each_pair
def test_operators_of_mixed_types(left: str, right: str) -> None:
    native = compiled(every_operator, left, right)
    number, bits = result_of(arithmetic, left, right), result_of(join, left, right)

    @examples(EXAMPLES)
    @given(drawn(left), drawn(right))
    def law(a: int, b: int) -> None:
        expected = [wrap(op(a, b), number) for op in ARITHMETIC]
        expected += [op(a, b) if bits == "Boolean" else wrap(op(a, b), bits) for op in BITWISE]
        expected += [op(a, b) for op in COMPARISONS]
        assert list(native(a, b)) == expected

    law()


def quotients(a: Any, b: Any) -> Any:
    quotient, remainder = divmod(a, b)
    return a // b, a % b, quotient, remainder


@each_type
@pytest.mark.parametrize("opt_level", [0, 3])
def test_floor_division_and_modulo(name: str, opt_level: int) -> None:
    native = compiled(quotients, name, name, opt_level=opt_level)

    def exact(a: int, b: int) -> tuple[int, ...]:
        return wrap(a // b, name), wrap(a % b, name), wrap(a // b, name), wrap(a % b, name)

    @examples(4 * EXAMPLES)
    @given(integers(name), integers(name))
    def law(a: int, b: int) -> None:
        assert outcome(native, a, b) == outcome(exact, a, b)

    law()


@pytest.mark.parametrize("name", [name for name in INTEGERS if TYPES[name].kind == "int"])
def test_the_one_overflowing_quotient_wraps(name: str) -> None:
    low, _ = bounds(name)
    assert compiled(quotients, name, name)(low, -1) == (low, 0, low, 0)


@each_type
@pytest.mark.parametrize("divisor", [1, 2, 3, 7])
def test_division_by_a_constant(name: str, divisor: int) -> None:
    signed = TYPES[name].kind == "int"

    def constant_divisor(a: Any) -> Any:
        return (a // divisor, a % divisor) + ((a // -divisor, a % -divisor) if signed else ())

    native = compiled(constant_divisor, name)

    @examples(EXAMPLES)
    @given(integers(name))
    def law(a: int) -> None:
        divisors = (divisor, -divisor) if signed else (divisor,)
        expected = [wrap(value, name) for by in divisors for value in (a // by, a % by)]
        assert list(native(a)) == expected

    law()


def test_division_by_a_constant_zero_is_pythons_error() -> None:
    with pytest.raises(ZeroDivisionError):
        tt.compile(lambda a: a // 0, 1)


def shifts(a: Any, count: Any) -> Any:
    return a << count, a >> count


@pytest.mark.parametrize("left", INTEGERS)
@pytest.mark.parametrize("right", ["Int4", "Uint8", "Int64", "Uint64"])
def test_shifts_of_mixed_types(left: str, right: str) -> None:
    native = compiled(shifts, left, right)

    def exact(a: int, count: int) -> tuple[int, int]:
        kept = min(count, 200)  # beyond every width nothing changes, and Python would build huge numbers
        return wrap(a << kept, left), wrap(a >> kept, left)

    @examples(EXAMPLES)
    @given(integers(left), st.one_of(integers(right), st.integers(*_small(right))))
    def law(a: int, count: int) -> None:
        assert outcome(native, a, count) == outcome(exact, a, count)

    law()


def _small(name: str) -> tuple[int, int]:
    low, high = bounds(name)
    return max(low, -2), min(high, 70)


@each_type
def test_shifts_by_constants(name: str) -> None:
    counts = (0, 1, TYPES[name].width - 1, TYPES[name].width, TYPES[name].width + 1, 1000)

    def constant_shifts(a: Any) -> Any:
        return tuple(shifted for count in counts for shifted in (a << count, a >> count))

    native = compiled(constant_shifts, name)

    @examples(EXAMPLES)
    @given(integers(name))
    def law(a: int) -> None:
        expected = [wrap(shifted, name) for count in counts for shifted in (a << count, a >> count)]
        assert list(native(a)) == expected

    law()


def signs(a: Any) -> Any:
    return -a, +a, ~a, abs(a), a**0, a**1, a**2, a**5


@each_type
def test_unary_operators_and_powers(name: str) -> None:
    native = compiled(signs, name)

    @examples(EXAMPLES)
    @given(integers(name))
    def law(a: int) -> None:
        assert list(native(a)) == [wrap(value, name) for value in signs(a)]

    law()


def beside_constants(a: Any) -> Any:
    return a + 3, 3 + a, a - 3, 3 - a, a * 3, a & 3, 3 | a, a ^ 3, a < 3, a >= 3, a == 3


@each_type
def test_python_constants_take_the_type_beside_them(name: str) -> None:
    native = compiled(beside_constants, name)

    @examples(EXAMPLES)
    @given(integers(name))
    def law(a: int) -> None:
        assert list(native(a)) == [v if isinstance(v, bool) else wrap(v, name) for v in beside_constants(a)]

    law()


def test_booleans_count_as_ints() -> None:
    native = compiled(lambda a, b: (a + b, a - b, a * b, -a, a & b, a | b, a ^ b, a < b), "Boolean", "Boolean")
    for a in (False, True):
        for b in (False, True):
            assert native(a, b) == (a + b, a - b, a * b, -a, a & b, a | b, a ^ b, a < b)
