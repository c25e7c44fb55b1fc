"""Conversions: narrowing integers wrap, floats truncate and saturate, rounding happens once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from tests.unit.metastage.compiled import CALLABLE, FLOATS, INTEGERS, any_float, bits, bounds, compiled, integers, wrap
from triptych.metastage.trace.errors import LiteralRangeError, OperandTypeError
from triptych.metastage.values.scalars import NUMERIC_CLASSES

PRECISION = {"Float16": 11, "BFloat16": 8, "Float32": 24, "Float64": 53}
LARGEST = {
    "Float16": 65504.0,
    "BFloat16": 2.0**128 - 2.0**120,
    "Float32": float(np.finfo(np.float32).max),
    "Float64": float(np.finfo(np.float64).max),
}
SMALLEST_EXPONENT = {"Float16": -24, "BFloat16": -133, "Float32": -149, "Float64": -1074}
each_integer = pytest.mark.parametrize("source", INTEGERS)
each_float = pytest.mark.parametrize("source", FLOATS)


def rounded(value: Fraction, name: str) -> float:
    """The nearest number of a float type, ties to even: one rounding, computed exactly."""
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - PRECISION[name] + 1, SMALLEST_EXPONENT[name])
    nearest = round(size / unit) * unit
    magnitude = math.inf if nearest > Fraction(LARGEST[name]) else float(nearest)
    return math.copysign(magnitude, value)


def to_every_integer(a: Any) -> Any:
    return tuple(a.to(NUMERIC_CLASSES[name]) for name in INTEGERS)


@each_integer
def test_integers_wrap(source: str) -> None:
    native = compiled(to_every_integer, source)

    @given(integers(source))
    def law(a: int) -> None:
        assert list(native(a)) == [wrap(a, name) for name in INTEGERS]

    law()


def test_the_example_of_the_language() -> None:
    assert compiled(lambda a: a.to(tt.Int8), "Int32")(300) == 44


@each_float
def test_floats_truncate_and_saturate(source: str) -> None:
    native = compiled(to_every_integer, source)

    def exact(a: float, name: str) -> int:
        low, high = bounds(name)
        if math.isnan(a):
            return 0
        return high if a > high else low if a < low else math.trunc(a)

    @examples(300)
    @given(st.one_of(any_float(source), st.floats(-300, 300, width=16)))
    @example(math.inf)
    @example(-math.inf)
    @example(-0.9)
    @example(255.5)
    def law(a: float) -> None:
        a = rounded(Fraction(a), source) if math.isfinite(a) else a
        assert list(native(a)) == [exact(a, name) for name in INTEGERS]

    law()


@each_integer
@pytest.mark.parametrize("target", FLOATS)
def test_integers_become_the_nearest_float(source: str, target: str) -> None:
    native = compiled(lambda a: a.to(NUMERIC_CLASSES[target]), source)

    @examples(100)
    @given(integers(source))
    def law(a: int) -> None:
        assert bits(native(a)) == bits(rounded(Fraction(a), target))

    law()
    if bounds(source)[1] > 2**30:
        nearly_a_tie = 2**30 + 2**22 + 1  # rounding to Float32 first would make this a tie of BFloat16
        assert native(nearly_a_tie) == rounded(Fraction(nearly_a_tie), target)


@each_float
@pytest.mark.parametrize("target", FLOATS)
def test_floats_round_once(source: str, target: str) -> None:
    native = compiled(lambda a: a.to(NUMERIC_CLASSES[target]), source)

    @examples(200)
    @given(any_float(source))
    @example(-0.0)
    @example(1 + 2**-11 + 2**-40)  # rounding to Float32 first would make this a tie
    @example(1 + 2**-8 + 2**-40)
    @example(2.0**-25 + 2.0**-60)
    @example(65519.99999)
    @example(math.inf)
    @example(math.nan)
    def law(a: float) -> None:
        if math.isfinite(a) and a != 0:
            a = rounded(Fraction(a), source)
        finite = math.isfinite(a) and a != 0
        assert bits(native(a)) == bits(rounded(Fraction(a), target) if finite else a)

    law()


@pytest.mark.parametrize("source", CALLABLE)
def test_truth_is_not_zero(source: str) -> None:
    native = compiled(lambda a: (a.to(tt.Boolean), bool(a)), source)
    one: Any = True if source == "Boolean" else 1
    zero: Any = False if source == "Boolean" else 0
    assert [native(one), native(zero)] == [(True, True), (False, False)]
    if source in FLOATS:
        assert native(math.nan) == (True, True)
        assert native(-0.0) == (False, False)


def test_python_types_name_the_usual_classes() -> None:
    native = compiled(lambda a: (a.to(int), a.to(float), a.to(bool)), "Float64")
    assert native(-2.75) == (-2, -2.75, True)


@pytest.mark.parametrize(("integer", "real"), [("Int32", "Float32"), ("Int64", "Float64"), ("Int16", "BFloat16")])
def test_bitcast_keeps_the_bits(integer: str, real: str) -> None:
    there = compiled(lambda a: a.bitcast(NUMERIC_CLASSES[real]).bitcast(NUMERIC_CLASSES[integer]), integer)

    @given(integers(integer))
    def law(a: int) -> None:
        assert there(a) == a

    law()


def test_bitcast_shows_the_bits() -> None:
    assert compiled(lambda a: a.bitcast(tt.Int32), "Float32")(1.0) == 0x3F800000
    assert compiled(lambda a: a.bitcast(tt.Uint16), "Float16")(-2.0) == 0xC000


def test_bitcast_needs_equal_widths() -> None:
    with pytest.raises(OperandTypeError, match="32 bits"):
        compiled(lambda a: a.bitcast(tt.Int64), "Float32")


# typed constants, outside compiled code ---------------------------------------------------------------------------
@each_integer
def test_constants_hold_what_fits_and_refuse_the_rest(source: str) -> None:
    cls = NUMERIC_CLASSES[source]
    low, high = bounds(source)
    assert [int(cls(low)), int(cls(high))] == [low, high]
    beyond = 1 << cls.width if low else high + 1  # signed types take bit patterns: tests/laws/test_literal_bits.py
    for outside in (low - 1, beyond):
        with pytest.raises(LiteralRangeError):
            cls(outside)


@pytest.mark.parametrize(
    ("source", "value", "wider"),
    [
        ("Int8", 300, "Int16"),
        ("Uint8", 300, "Uint16"),
        ("Uint8", -1, "Int16"),
        ("Uint32", -1, "Int64"),
        ("Uint32", 2**40, "Uint64"),
        ("Int64", 2**64, "Int128"),
        ("Float16", 1e6, "Float32"),
        ("Float8E4M3FN", 500, "Float16"),
        ("Float32", 1e300, "Float64"),
        ("Int32", 2**200, "Float64"),
    ],
)
def test_what_does_not_fit_is_reported_the_nearest_type_that_holds_it(source: str, value: float, wider: str) -> None:
    with pytest.raises(LiteralRangeError, match=rf"for example {wider}(?m:$)"):
        NUMERIC_CLASSES[source](value)


@given(st.integers(-(2**63), 2**63 - 1))
def test_constants_convert_as_run_time_values_do(a: int) -> None:
    constant = tt.Int64(a)
    assert [int(constant.to(NUMERIC_CLASSES[name])) for name in INTEGERS] == [wrap(a, name) for name in INTEGERS]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_float_constants_convert_as_run_time_values_do(a: float) -> None:
    native = compiled(to_every_integer, "Float64")
    constant = tt.Float64(a)
    assert [int(constant.to(NUMERIC_CLASSES[name])) for name in INTEGERS] == list(native(a))


@given(st.floats(-1e30, 1e30))
def test_narrow_constants_are_rounded(a: float) -> None:
    assert float(tt.Float32(a)) == float(np.float32(a))
