"""Annotations that say no type of numbers: `Numeric`, `Integer`, `Float`, their class; and run-time values for a
Constexpr of a function that is inlined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.launched import run
from triptych import cute
from triptych.cute.typing import NumericMeta
from triptych.metastage.trace.errors import OperandTypeError, StaticRequiredError

ABSTRACT = [tt.Numeric, cute.Numeric, tt.Integer, tt.Float]


def nested_of(kind: Any) -> Any:
    """A compiled function whose parameters, given or by default, are annotated so."""

    def choose(value: Any, other: Any = 3, is_first: bool = True) -> Any:
        found = other
        if is_first:
            found = value
        return found

    choose.__annotations__.update(value=kind, other=kind)
    return tt.jit(choose)


@pytest.mark.parametrize("kind", ABSTRACT)
def test_a_nested_function_takes_any_number(kind: Any) -> None:
    choose = nested_of(kind)

    @tt.jit
    def host(n: tt.Int64, x: tt.Float32) -> Any:
        whole, part = choose(n, 3, n > 0), choose(x, -tt.Float32.inf, n > 0)
        assert (type(whole), type(part)) == (tt.Int64, tt.Float32)
        assert choose(2, 5, True) == 2
        assert type(choose(2.5)) is float
        return whole, part

    assert host(7, 0.5) == (7, 0.5)
    assert host(-7, 0.5) == (3, -float("inf"))


@pytest.mark.parametrize("kind", ABSTRACT)
@pytest.mark.parametrize("value", [3, 2.5, True, tt.Int64(1 << 40), np.float64(0.1)])
def test_an_argument_from_python_is_what_it_is(kind: Any, value: Any) -> None:
    def same(x: Any) -> Any:
        return x

    plain = tt.jit(same)(value)
    same.__annotations__["x"] = kind
    assert tt.jit(same)(value) == plain


def test_an_argument_of_a_kernel_is_what_it_is() -> None:
    @tt.kernel
    def fill(out: cute.Pointer, value: cute.Numeric, times: tt.Integer) -> None:
        thread, _, _ = cute.arch.thread_idx()
        (out + thread).store(tt.Float32(value * times))

    out = np.zeros(32, np.float32)
    run(fill, [out], 1.5, 2)
    assert out.tolist() == [3.0] * 32


def test_a_field_says_no_type_either() -> None:
    @tt.jit
    def total(pair: tuple[tt.Numeric, tt.Integer]) -> Any:
        return pair[0] + pair[1]

    assert total((0.5, 2)) == 2.5


def test_a_class_of_numbers_is_part_of_the_program() -> None:
    def converted(x: Any, kind: Any) -> Any:
        return x.to(kind)

    converted.__annotations__.update(x=tt.Float32, kind=NumericMeta)
    assert tt.jit(converted)(2.75, tt.Int32) == 2


def test_no_number_has_the_abstract_class() -> None:
    @tt.jit
    def mistaken(x: tt.Float32) -> Any:
        return x.to(tt.Numeric)

    with pytest.raises(OperandTypeError, match="not a numeric type"):
        mistaken(1.0)


# run-time values for a Constexpr ----------------------------------------------------------------------------------
@tt.jit
def scaled(x: tt.Float32, is_large: tt.Constexpr[bool] = False, times: tt.Constexpr[int] = 1) -> Any:
    return (x * 10.0 if is_large else x) * times


@tt.jit
def passes_on(x: tt.Float32, n: tt.Int32) -> Any:
    return scaled(x, n > 3, n), scaled(x, is_large=True), scaled(x, times=2)


def test_a_constexpr_of_an_inlined_function_is_what_is_given() -> None:
    assert passes_on(0.5, 4) == (20.0, 5.0, 1.0)
    assert passes_on(0.5, 2) == (1.0, 5.0, 1.0)


@tt.jit
def decides(x: tt.Float32, is_large: tt.Constexpr[bool]) -> Any:
    return x * 10.0 if tt.const_expr(is_large) else x


@tt.jit
def unrolls(x: tt.Float32, times: tt.Constexpr[int]) -> Any:
    for _ in tt.range_constexpr(times):
        x = x + 1.0
    return x


@pytest.mark.parametrize(("inner", "given"), [(decides, lambda n: n > 3), (unrolls, lambda n: n)])
def test_what_needs_to_know_it_refuses_it(inner: Any, given: Any) -> None:
    @tt.jit
    def outer(x: tt.Float32, n: tt.Int32) -> Any:
        return inner(x, given(n))

    with pytest.raises(StaticRequiredError):
        outer(1.0, 4)


def test_a_kernel_has_to_know_it() -> None:
    @tt.kernel
    def fill(out: cute.Pointer, n: tt.Constexpr[int]) -> None:
        out.store(n)

    @tt.jit
    def host(out: cute.Pointer, n: tt.Int32) -> None:
        fill(out, n).launch(grid=1, block=1)

    with pytest.raises(StaticRequiredError, match="the Constexpr argument `n`"):
        host(cute.runtime.make_ptr(tt.Int32, 64), 3)
