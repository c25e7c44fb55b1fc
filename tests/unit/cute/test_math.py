"""`cute.math`: which operation a function is, in which type, with which options, and what Python computes itself."""

from __future__ import annotations

import math
from typing import Any

import pytest

import triptych as tt
from tests.support.mathematics import OTHERS, PROMISES
from tests.support.tensor_values import evaluated
from triptych import cute
from triptych.cute import math as cute_math
from triptych.cute.tracing.errors import RoundingModeError
from triptych.metastage.trace.errors import OperandTypeError

NAN = math.nan
DOCUMENTED = """
    abs absf absi acos acosh add asin asinh atan atan2 atanh cbrt ceil clamp copysign cos cosh div erf erfc exp exp2
    expm1 floor fma fpowi ipowi isfinite isinf isnan isnormal log log10 log1p log2 max min mul neg pow rcp rem round
    roundeven rsqrt sin sincos sinh sqrt sub tan tanh trunc
"""


def mlir_of(function: Any) -> str:
    def one(x: tt.Float32) -> Any:
        return function(x)

    text: str = tt.compile(one, 1.0).mlir
    return text


# names ------------------------------------------------------------------------------------------------------------
def test_the_documented_functions_exist() -> None:
    assert set(DOCUMENTED.split()) == set(cute_math.__all__) - {"RoundingMode"}


def test_every_function_has_a_promise() -> None:
    assert {promise.name for promise in PROMISES} | set(OTHERS) == set(DOCUMENTED.split())


def test_functions_that_older_programs_find_in_cute() -> None:
    assert cute.rsqrt is cute_math.rsqrt
    assert cute.exp is cute_math.exp
    assert cute.math is cute_math


# operations -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("promise", [p for p in PROMISES if p.name not in ("rcp", "neg")], ids=lambda p: p.name)
def test_a_function_is_one_operation(promise: Any) -> None:
    assert mlir_of(getattr(cute_math, promise.name)).count(f"math.{promise.name} ") == 1


def test_fastmath_allows_approximations_and_keeps_special_values() -> None:
    assert "fastmath" not in mlir_of(cute_math.exp2)
    for text in (
        mlir_of(lambda x: cute_math.exp2(x, fastmath=True)),
        mlir_of(lambda x: cute_math.exp2(x, approx=True)),
    ):
        assert "math.exp2 %arg0 fastmath<arcp,contract,afn>" in text


def test_the_flags_reach_no_result() -> None:
    fast = tt.jit(lambda x: (cute_math.exp2(x, fastmath=True), cute_math.div(1.0, x, fastmath=True)))
    assert fast(-math.inf) == (0.0, -0.0)
    assert all(map(math.isnan, fast(NAN)))


# types ------------------------------------------------------------------------------------------------------------
def test_a_float_keeps_its_type_and_integers_divide_truly() -> None:
    types: list[Any] = []

    def kinds(x: tt.Int32) -> Any:
        types.extend(type(cute_math.sqrt(x.to(dtype))) for dtype in (tt.Int8, tt.Int32, tt.Int64, tt.Boolean))
        types.extend(type(cute_math.sqrt(x.to(dtype))) for dtype in (tt.Float16, tt.BFloat16, tt.Float64))
        types.append(type(cute_math.atan2(x.to(tt.Float16), x.to(tt.Float32))))
        types.append(type(cute_math.atan2(x, 0.5)))
        return x

    tt.compile(kinds, 4)
    assert types == [
        *(tt.Float32, tt.Float32, tt.Float64, tt.Float32),
        *(tt.Float16, tt.BFloat16, tt.Float64),
        *(tt.Float32, tt.Float32),
    ]


def test_types_for_storage_have_no_mathematics() -> None:
    with pytest.raises(OperandTypeError, match=r"sqrt has no form for Float8E5M2"):
        tt.compile(lambda x: cute_math.sqrt(x.to(tt.Float8E5M2)).to(tt.Float32), 1.0)


def test_a_number_and_a_tensor_meet() -> None:
    assert evaluated(lambda x: cute_math.copysign(x, -1.0), ([1.0, -2.0], 2, tt.Float32)) == [-1.0, -2.0]
    assert evaluated(lambda x: cute_math.fma(x, x[1], 1), ([1.0, 2.0], 2, tt.Float32)) == [3.0, 5.0]


# Python numbers ---------------------------------------------------------------------------------------------------
def test_python_computes_python_numbers() -> None:
    assert cute_math.sqrt(4) == 2.0
    assert cute_math.rsqrt(4.0) == 0.5
    assert cute_math.sincos(0.0) == (0.0, 1.0)
    assert cute_math.clamp(7, 0, 5) == 5
    assert cute_math.max(NAN, 1.0) == 1.0
    assert math.isnan(cute_math.max(NAN, 1.0, propagate_nan=True))
    assert cute_math.rem(-7.0, 3.0) == -1.0
    assert cute_math.isnormal(5e-324) is False
    assert cute_math.ipowi(2, 10) == 1024
    assert cute_math.ipowi(-1, -3) == -1
    assert cute_math.ipowi(2, -1) == 0
    assert cute_math.fpowi(2.0, -1) == 0.5
    assert (cute_math.add(1, 2), cute_math.sub(1, 2), cute_math.mul(2, 3), cute_math.div(1, 2)) == (3, -1, 6, 0.5)
    with pytest.raises(ValueError, match=r"domain error|nonnegative"):
        cute_math.sqrt(-1.0)


@pytest.mark.parametrize("x", [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 3.0])
def test_python_rounds_as_compiled_code_does(x: float) -> None:
    names = ("floor", "ceil", "trunc", "round", "roundeven")

    def rounded(x: tt.Float64) -> Any:
        return tuple(getattr(cute_math, name)(x) for name in names)

    assert tt.compile(rounded, 0.0)(x) == tuple(getattr(cute_math, name)(x) for name in names)


# options ----------------------------------------------------------------------------------------------------------
def test_only_the_usual_rounding() -> None:
    assert tt.jit(lambda x: cute_math.sqrt(x, rounding=cute_math.RoundingMode.NEAREST_EVEN))(4.0) == 2.0
    with pytest.raises(RoundingModeError, match="nearest"):
        tt.compile(lambda x: cute_math.mul(x, x, rounding=cute_math.RoundingMode.UP), 1.0)


def test_ftz_treats_subnormals_as_zeros() -> None:
    small = 2.0**-130

    def products(x: tt.Float32, y: tt.Float32) -> Any:
        return (
            cute_math.mul(x, y, ftz=True),
            cute_math.mul(x, y),
            cute_math.absf(x, ftz=True),
            cute_math.max(x, -1.0, ftz=True),
        )

    compiled: Any = tt.compile(products, 1.0, 1.0)
    assert compiled(small, 1.0) == (0.0, small, 0.0, 0.0)
    assert compiled(2.0**-100, 2.0**-30) == (0.0, small, 2.0**-100, 2.0**-100)
    assert math.copysign(1.0, compiled(-small, 1.0)[0]) == -1.0
    assert compiled(1.0, 2.0) == (2.0, 2.0, 1.0, 1.0)


# extremes ---------------------------------------------------------------------------------------------------------
def test_extremes_ignore_nan_unless_it_propagates() -> None:
    def extremes(x: tt.Float32, y: tt.Float32) -> Any:
        quiet = cute_math.min(x, y), cute_math.max(x, y)
        return *quiet, cute_math.min(x, y, propagate_nan=True), cute_math.max(x, y, propagate_nan=True)

    compiled: Any = tt.compile(extremes, 1.0, 1.0)
    assert compiled(1.0, 2.0) == (1.0, 2.0, 1.0, 2.0)
    assert compiled(NAN, 2.0)[:2] == compiled(2.0, NAN)[:2] == (2.0, 2.0)
    assert all(map(math.isnan, compiled(NAN, 2.0)[2:]))


def test_extremes_of_integers_know_signs() -> None:
    assert evaluated(lambda x: (cute_math.min(x, 0), cute_math.max(x, 0)), ([-1, 1], 2, tt.Int8)) == [-1, 0, 0, 1]
    assert evaluated(lambda x: cute_math.max(x, 1), ([0, 255], 2, tt.Uint8)) == [1, 255]


def test_clamp() -> None:
    assert evaluated(lambda x: cute_math.clamp(x, 0.0, 1.0), ([-1.0, 0.5, 2.0], 3, tt.Float32)) == [0.0, 0.5, 1.0]


def test_the_extremes_of_the_package_take_several() -> None:
    @tt.jit
    def extremes(a: tt.Int32, b: tt.Int32) -> Any:
        return tt.max(a, b, 5), tt.min(a, b, 5)

    assert extremes(3, 9) == (9, 3)
    assert tt.max(1, 2) == 2
    assert evaluated(lambda x: tt.max(x, 2), ([1, 3], 2, tt.Int32)) == [2, 3]


# kinds of numbers -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [tt.Float16, tt.BFloat16, tt.Float32, tt.Float64], ids=lambda dtype: dtype.__name__)
def test_kinds_of_numbers(dtype: Any) -> None:
    numbers = [0.0, 1.0, -math.inf, math.inf, NAN, -3.0]
    tests = ("isnan", "isinf", "isfinite", "isnormal")
    found = evaluated(lambda x: tuple(getattr(cute_math, name)(x) for name in tests), (numbers, 6, dtype))
    assert found == [getattr(cute_math, name)(x) for name in tests for x in numbers]


def test_a_subnormal_is_not_normal() -> None:
    halves = ([2.0**-15, 2.0**-14], 2, tt.Float16)
    assert evaluated(lambda x: (cute_math.isnormal(x), cute_math.isfinite(x)), halves) == [False, True, True, True]


# signs ------------------------------------------------------------------------------------------------------------
def test_absolute_values() -> None:
    assert evaluated(lambda x: (cute_math.abs(x), cute_math.absi(x), cute_math.absf(x)), ([-2, 3], 2, tt.Int32)) == [
        2,
        3,
        2,
        3,
        2.0,
        3.0,
    ]
    with pytest.raises(OperandTypeError, match="absf"):
        tt.compile(lambda x: cute_math.absi(x), 1.0)


# powers -----------------------------------------------------------------------------------------------------------
BASES, EXPONENTS = [0, 1, -1, 2, -3, 7], [0, 1, 2, 5, 31]


def wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def test_integer_powers_wrap() -> None:
    @tt.jit
    def power(base: tt.Int32, exponent: tt.Int32) -> Any:
        return cute_math.ipowi(base, exponent)

    for base in BASES:
        assert [power(base, n) for n in EXPONENTS] == [wrapped(base**n) for n in EXPONENTS]
        assert [power(base, -n) for n in (1, 2)] == [cute_math.ipowi(base, -n) for n in (1, 2)]


def test_integer_powers_of_tensors_and_constants() -> None:
    assert evaluated(lambda x: cute_math.ipowi(x, x), ([2, 3, -2], 3, tt.Int32)) == [4, 27, 0]
    assert evaluated(lambda x: cute_math.ipowi(x, 5), ([2, -3], 2, tt.Int8)) == [32, 13]
    assert evaluated(lambda x: cute_math.ipowi(x, -3), ([1, -1, 2], 3, tt.Int32)) == [1, -1, 0]
    assert evaluated(lambda x: cute_math.ipowi(3, x), ([0, 4], 2, tt.Uint32)) == [1, 81]
    with pytest.raises(OperandTypeError, match="ipowi takes an integer"):
        tt.compile(lambda x: cute_math.ipowi(x, 2), 1.0)


def test_powers_of_floats_to_integers() -> None:
    @tt.jit
    def power(base: tt.Float32, exponent: tt.Int32) -> Any:
        return cute_math.fpowi(base, exponent)

    for base in (2.0, -1.5, 0.5, -0.0):
        for exponent in (-3, 0, 1, 2, 7):
            if base or exponent >= 0:
                assert power(base, exponent) == pytest.approx(base**exponent, rel=1e-6)
    assert power(-1.0, 2**24 + 1) == -1.0  # Float32 does not hold the exponent
    assert evaluated(lambda x: cute_math.fpowi(x, 3), ([2.0, -2.0], 2, tt.Float32)) == [8.0, -8.0]
    with pytest.raises(OperandTypeError, match="fpowi takes an integer"):
        tt.compile(lambda x: cute_math.fpowi(x, x), 1.0)


def test_arithmetic_on_integers_is_that_of_operators() -> None:
    assert evaluated(lambda x: (cute_math.add(x, 1), cute_math.mul(x, x)), ([3], 1, tt.Int32)) == [4, 9]
