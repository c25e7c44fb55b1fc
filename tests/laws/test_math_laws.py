"""Laws of `cute.math`: as accurate as the guide says, for numbers and tensors, and C's values at the special points."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.mathematics import PROMISES, Promise, ulps
from tests.support.tensor_values import evaluated
from triptych.cute import math as cute_math
from triptych.cute.tensors.value import TensorSSA
from triptych.metastage.values.scalars import Numeric

each = pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.name)
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 2.0**-149, -(2.0**-149), 2.0**-126]
LANES = 8


def function_of(promise: Promise) -> Any:
    return getattr(cute_math, promise.name)


@cache
def on_numbers(promise: Promise) -> Any:
    function = function_of(promise)

    def one(x: tt.Float32) -> Any:
        return function(x)

    return tt.compile(one, 1.0)


@cache
def on_tensors(promise: Promise) -> Any:
    function = function_of(promise)

    def lanes(numbers: Any) -> Any:
        results = function(TensorSSA.from_elements(numbers, tt.Float32))
        return tuple(results[i] for i in range(LANES))

    return tt.compile(lanes, (1.0,) * LANES)


@cache
def every_function(dtype: type[Numeric]) -> Any:
    """All functions of one number at once, compiled together because that takes as long as one."""
    functions = [function_of(promise) for promise in PROMISES]

    def every(x: Any) -> Any:
        return tuple(function(x) for function in functions)

    every.__annotations__["x"] = dtype
    return tt.compile(every, 1.0)


@each
def test_a_number_is_as_accurate_as_promised(promise: Promise) -> None:
    compiled = on_numbers(promise)
    worst = max(ulps(compiled(x), promise.reference(x)) for x in promise.samples(1500, seed=1).tolist())
    assert worst <= promise.ulp


@each
def test_a_tensor_is_as_accurate_as_promised(promise: Promise) -> None:
    compiled, numbers = on_tensors(promise), promise.samples(800, seed=2).tolist()
    worst = 0.0
    for start in range(0, len(numbers) - LANES, LANES):
        part = tuple(numbers[start : start + LANES])
        worst = max(worst, *(ulps(y, promise.reference(x)) for x, y in zip(part, compiled(part), strict=True)))
    assert worst <= promise.ulp


@each
def test_float64_is_pythons(promise: Promise) -> None:
    compiled, place = every_function(tt.Float64), PROMISES.index(promise)
    for x in promise.samples(100, seed=3).astype(float).tolist():
        assert compiled(x)[place] == pytest.approx(promise.reference(x), rel=8 * 2.0**-53, abs=0.0)


@each
def test_narrow_floats_are_float32_rounded(promise: Promise) -> None:
    """The step of bfloat is 2**-8: a result of Float32 rounds to it as the exact one does, up to one step."""
    compiled, place = every_function(tt.BFloat16), PROMISES.index(promise)
    for x in promise.samples(100, seed=4).tolist():
        narrow = float(np.frombuffer((np.float32(x).view(np.uint32) & np.uint32(0xFFFF0000)).tobytes(), np.float32)[0])
        if promise.low <= narrow <= promise.high and narrow != 0.0:
            exact = promise.reference(narrow)
            assert compiled(narrow)[place] == pytest.approx(exact, rel=2.0**-7, abs=2.0**-126)


@each
def test_special_values_are_cs(promise: Promise) -> None:
    numpy = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh"}
    numpy |= {"atanh": "arctanh", "absf": "fabs", "neg": "negative", "rcp": "reciprocal", "roundeven": "rint"}
    reference = getattr(np, numpy.get(promise.name, promise.name), None)
    if promise.name in ("round", "rsqrt", "erf", "erfc"):
        pytest.skip("NumPy has another meaning or none")
    assert reference is not None
    one, many = on_numbers(promise), on_tensors(promise)
    with np.errstate(all="ignore"):
        expected = reference(np.array(SPECIAL, np.float32)).tolist()
    for x, exact in zip(SPECIAL, expected, strict=True):
        for found in (one(x), many((x,) * LANES)[0]):
            assert same(found, exact, promise.ulp), x


def same(found: float, exact: float, ulp: float) -> bool:
    """Equal with its sign at zeros and infinities, both NaN, or as near as promised."""
    if math.isnan(exact) or math.isinf(exact) or exact == 0.0:
        return repr(found) == repr(exact) or (math.isnan(found) and math.isnan(exact))
    return ulps(found, exact) <= ulp + 1


PAIRS = [("atan2", math.atan2, 2.0, (-1e3, 1e3)), ("pow", math.pow, 4.0, (1e-3, 20.0))]


@pytest.mark.parametrize(("name", "reference", "promised", "bounds"), PAIRS, ids=["atan2", "pow"])
def test_functions_of_two_are_as_accurate_as_promised(
    name: str, reference: Any, promised: float, bounds: tuple[float, float]
) -> None:
    function = getattr(cute_math, name)

    def both(x: tt.Float32, y: tt.Float32) -> Any:
        tensor = function(TensorSSA.from_elements([x] * LANES, tt.Float32), y)
        return function(x, y), tensor[0]

    compiled: Any = tt.compile(both, 1.0, 1.0)
    numbers = np.random.default_rng(5).uniform(*bounds, (2000, 2)).astype(np.float32).tolist()
    assert max(ulps(found, reference(x, y)) for x, y in numbers for found in compiled(x, y)) <= promised


@pytest.mark.parametrize("dtype", [tt.Float16, tt.Float32, tt.Float64], ids=lambda dtype: dtype.__name__)
def test_functions_of_two(dtype: type[Numeric]) -> None:
    left, right = [0.5, -1.25, 3.0, 7.5], [2.0, 0.75, -2.0, 3.0]

    def two(x: Any, y: Any) -> Any:
        return (
            cute_math.atan2(x, y),
            cute_math.copysign(x, y),
            cute_math.rem(x, y),
            cute_math.div(x, y),
            cute_math.pow(cute_math.absf(x), y),
            cute_math.fma(x, y, x),
        )

    found = evaluated(two, (left, 4, dtype), (right, 4, dtype))
    expected = [
        function(x, y)
        for function in (math.atan2, math.copysign, math.fmod, _quotient, _power, _fused)
        for x, y in zip(left, right, strict=True)
    ]
    assert found == pytest.approx(expected, rel=4 * 2.0 ** -{16: 10, 32: 23, 64: 52}[dtype.width])


def _quotient(x: float, y: float) -> float:
    return x / y


def _power(x: float, y: float) -> float:
    return math.pow(abs(x), y)


def _fused(x: float, y: float) -> float:
    return x * y + x


def test_fma_rounds_once() -> None:
    @tt.jit
    def fused(a: tt.Float32, b: tt.Float32, c: tt.Float32) -> Any:
        return cute_math.fma(a, b, c)

    a = 1.0 + 2.0**-12
    assert fused(a, a, -1.0) == 2.0**-11 + 2.0**-24
    assert cute_math.fma(1.0 + 2.0**-30, 1.0 + 2.0**-30, -1.0) == 2.0**-29 + 2.0**-60
