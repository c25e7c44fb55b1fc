"""Float operators to the last bit: Float64 against CPython, the narrower types against NumPy and ml_dtypes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from tests.unit.metastage.compiled import FLOATS, any_float, bits, compiled

NUMPY: dict[str, Any] = {
    "Float16": np.float16,
    "BFloat16": ml_dtypes.bfloat16,
    "Float32": np.float32,
    "Float64": np.float64,
}
COMPARISONS: tuple[Callable[[Any, Any], Any], ...] = (
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
)
each_float = pytest.mark.parametrize("name", FLOATS)
each_level = pytest.mark.parametrize("opt_level", [0, 3])


def drawn(name: str) -> st.SearchStrategy[float]:
    """Every float of the type; a coarse grid makes exact quotients and ties common."""
    grid = st.integers(-64, 64).map(lambda n: n / 4)
    return st.one_of(grid, any_float(name).map(lambda x: float(NUMPY[name](x))))


def four(a: Any, b: Any) -> Any:
    return a + b, a - b, a * b, a / b


@each_float
@each_level
def test_arithmetic_rounds_once(name: str, opt_level: int) -> None:
    native = compiled(four, name, name, opt_level=opt_level)

    @examples(200)
    @given(drawn(name), drawn(name))
    def law(a: float, b: float) -> None:
        with np.errstate(all="ignore"):
            expected = [float(value) for value in four(NUMPY[name](a), NUMPY[name](b))]
        assert [bits(value) for value in native(a, b)] == [bits(value) for value in expected]

    law()


def floors(a: Any, b: Any) -> Any:
    return a // b, a % b


@each_level
def test_float64_floor_division_and_modulo_are_cpythons(opt_level: int) -> None:
    native = compiled(floors, "Float64", "Float64", opt_level=opt_level)

    @examples(500)
    @given(drawn("Float64"), drawn("Float64").filter(bool))
    @example(-0.0, 3.0)
    @example(5.0, -0.5)
    @example(-1e-320, 3.0)
    @example(1e308, 1e-308)
    @example(5.0, math.inf)
    @example(-5.0, math.inf)
    def law(a: float, b: float) -> None:
        assert [bits(value) for value in native(a, b)] == [bits(value) for value in floors(a, b)]

    law()


def test_float32_floor_division_and_modulo_are_numpys() -> None:
    native = compiled(floors, "Float32", "Float32")

    @examples(300)
    @given(drawn("Float32"), drawn("Float32").filter(bool))
    def law(a: float, b: float) -> None:
        with np.errstate(all="ignore"):
            expected = [float(value) for value in floors(np.float32(a), np.float32(b))]
        assert [bits(value) for value in native(a, b)] == [bits(value) for value in expected]

    law()


@each_float
def test_comparisons(name: str) -> None:
    native = compiled(lambda a, b: tuple(op(a, b) for op in COMPARISONS), name, name)

    @examples(200)
    @given(drawn(name), drawn(name))
    @example(0.0, -0.0)
    @example(math.nan, math.nan)
    def law(a: float, b: float) -> None:
        assert list(native(a, b)) == [op(a, b) for op in COMPARISONS]

    law()


@pytest.mark.parametrize("integer", ["Int8", "Int32", "Uint32"])
def test_integers_compare_with_floats_by_value(integer: str) -> None:
    native = compiled(lambda a, b: tuple(op(a, b) for op in COMPARISONS), integer, "Float32")
    values = st.integers(0, 127) if integer == "Int8" else st.integers(0, 2**31 - 1)

    @examples(200)
    @given(values, st.one_of(drawn("Float32"), values.map(lambda n: float(np.float32(n)))))
    def law(a: int, b: float) -> None:
        assert list(native(a, b)) == [op(a, b) for op in COMPARISONS]

    law()


@each_float
def test_signs(name: str) -> None:
    native = compiled(lambda a: (-a, +a, abs(a)), name)

    @given(drawn(name))
    @example(-0.0)
    def law(a: float) -> None:
        assert [bits(value) for value in native(a)] == [bits(value) for value in (-a, +a, abs(a))]

    law()


def test_constants_beside_floats() -> None:
    def beside(a: Any) -> Any:
        return a + 1, 2 * a, a - 0.5, 1 / a, a / 3, a**2

    native = compiled(beside, "Float64")

    @given(st.floats(-1e100, 1e100).filter(bool))
    def law(a: float) -> None:
        assert [bits(value) for value in native(a)] == [bits(value) for value in beside(a)]

    law()


def test_integer_division_gives_floats_by_width() -> None:
    narrow = compiled(lambda a, b: a / b, "Int32", "Int32")
    wide = compiled(lambda a, b: a / b, "Int64", "Int64")
    assert narrow(1, 3) == float(np.float32(1) / np.float32(3))
    assert wide(1, 3) == 1 / 3


@each_float
def test_division_by_zero_follows_ieee(name: str) -> None:
    native = compiled(lambda a, b: a / b, name, name)
    assert [native(1.0, 0.0), native(-1.0, 0.0)] == [math.inf, -math.inf]
    assert math.isnan(native(0.0, 0.0))


@each_float
def test_typed_constants_outside_a_function_are_rounded_once(name: str) -> None:
    kind, numpy = getattr(tt, name), NUMPY[name]

    @examples(200)
    @given(st.integers(-2000, 2000), st.integers(-2000, 2000))
    def law(a: int, b: int) -> None:
        left, right = float(numpy(a / 64)), float(numpy(b / 3))
        for op in (operator.add, operator.sub, operator.mul):
            found = op(kind(left), kind(right))
            assert type(found) is kind
            assert found == float(op(numpy(left), numpy(right)))

    law()


def test_typed_integers_outside_a_function_wrap() -> None:
    assert tt.Int32(2**31 - 1) + tt.Int32(1) == -(2**31)
    assert tt.Uint8(200) * tt.Uint8(2) == 144
