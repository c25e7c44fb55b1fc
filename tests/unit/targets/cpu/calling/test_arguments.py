from __future__ import annotations

import math
import struct
import traceback
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.targets.build import function, identity
from triptych.diagnostics.runtime_errors import ArgumentCountError, ArgumentRangeError, ArgumentTypeError
from triptych.ir.errors import LoweringError
from triptych.support.float_formats import FLOAT_FORMATS
from triptych.targets.cpu.calling.scalars import SCALARS

INTEGERS = [name for name, scalar in SCALARS.items() if scalar.kind in ("signed", "unsigned")]
FLOATS = [name for name, scalar in SCALARS.items() if scalar.kind == "float"]
levels = pytest.mark.parametrize("opt_level", [0, 3])


@levels
@pytest.mark.parametrize("dtype", INTEGERS)
@given(st.data())
def test_an_int_comes_back_or_does_not_fit(dtype: str, opt_level: int, data: st.DataObject) -> None:
    scalar, call = SCALARS[dtype], identity(dtype, opt_level)
    edges = [scalar.low, scalar.low - 1, scalar.high, scalar.high + 1, 0, -1, 2**63, 2**64, -(2**63) - 1, 10**30]
    value = data.draw(st.sampled_from(edges) | st.integers(-(2**66), 2**66))
    if scalar.low <= value <= scalar.high:
        assert call(value) == value
        assert type(call(value)) is int
    else:
        with pytest.raises(ArgumentRangeError, match=rf"argument 'x' does not fit in {dtype}\b"):
            call(value)


def nearest(value: float, name: str) -> float:
    """The oracle: round a double to a narrower format with exact rational arithmetic."""
    if not SCALARS[name].rounded_to and (math.isnan(value) or math.isinf(value) or name == "Float64"):
        return value
    if SCALARS[name].rounded_to:
        return FLOAT_FORMATS[SCALARS[name].rounded_to].round(value)
    precision, least, most = {"Float16": (11, -24, 16), "BFloat16": (8, -133, 128), "Float32": (24, -149, 128)}[name]
    exact = abs(Fraction(value))
    if exact == 0:
        return value
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if Fraction(2) ** exponent > exact:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - precision + 1, least)
    rounded = round(exact / unit) * unit
    sign = -1.0 if struct.pack(">d", value)[0] & 0x80 else 1.0
    return sign * (float(rounded) if rounded < Fraction(2) ** most else float("inf"))


@levels
@pytest.mark.parametrize("dtype", FLOATS)
@given(st.floats() | st.floats(-70000, 70000) | st.floats(-1e-4, 1e-4) | st.floats(width=16) | st.floats(width=32))
def test_a_float_is_rounded_once(dtype: str, opt_level: int, value: float) -> None:
    call, expected = identity(dtype, opt_level), nearest(value, dtype)
    if not fits(value, dtype):
        with pytest.raises(ArgumentRangeError, match=rf"argument 'x' does not fit in {dtype}\b"):
            call(value)
        return
    found = call(value)
    assert struct.pack(">d", found) == struct.pack(">d", expected) or (found != found and expected != expected)


def fits(value: float, name: str) -> bool:
    """Whether a number stays one by being rounded, and infinity and NaN what they are."""
    form = FLOAT_FORMATS.get(SCALARS[name].traced)
    if form is not None:
        return form.holds(value)
    return math.isinf(value) or not math.isinf(nearest(value, name))


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_largest_that_fits_and_the_next(dtype: str) -> None:
    form = FLOAT_FORMATS.get(SCALARS[dtype].traced)
    limit = form.limit if form is not None else math.inf if dtype == "Float64" else 2.0**128 - 2.0**103
    call = identity(dtype)
    assert math.isfinite(call(math.nextafter(limit, 0.0)))
    for value in (limit, -limit, 1e300, *((-1.0,) if dtype == "Float8E8M0FNU" else ())):
        if math.isfinite(value) and dtype != "Float64":
            with pytest.raises(OverflowError):
                call(value)
    for special in (math.inf, -math.inf, math.nan):
        if form is None or form.holds(special):
            assert str(call(special)) == str(special)
        else:
            with pytest.raises(OverflowError):
                call(special)


def test_rounding_twice_would_be_visible() -> None:
    """1 + 2^-11 + 2^-40 lies above the middle between two halves; through float it would look like the middle."""
    value = 1 + 2**-11 + 2**-40
    assert identity("Float16")(value) == 1 + 2**-10
    assert struct.unpack("<e", struct.pack("<e", struct.unpack("<f", struct.pack("<f", value))[0]))[0] == 1.0


@levels
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [0, 1, -3, True, 2**53 + 1, -(2**63), 2**63 - 1])
def test_a_float_parameter_takes_ints(dtype: str, opt_level: int, value: int) -> None:
    if not fits(float(value), dtype):
        with pytest.raises(ArgumentRangeError):
            identity(dtype, opt_level)(value)
        return
    assert identity(dtype, opt_level)(value) == nearest(float(value), dtype)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        *(("Boolean", value) for value in (1, 0, 1.0, None, "x")),
        *(("Int32", value) for value in (1.0, None, "1", [1], {}, object(), b"1", 1j)),
        *(("Uint64", value) for value in (1.0, None, "1")),
        *(("Float32", value) for value in (None, "1.0", (1.0,), 1j, len)),
    ],
)
def test_another_type_is_refused(dtype: str, value: object) -> None:
    with pytest.raises(ArgumentTypeError, match="argument 'x' must be") as caught:
        identity(dtype)(value)
    assert isinstance(caught.value, TypeError)
    assert dtype in caught.value.expected


def test_booleans_cross_as_bool() -> None:
    assert identity("Boolean")(True) is True
    assert identity("Boolean")(False) is False
    assert identity("Int32")(True) == 1
    assert type(identity("Int32")(True)) is int


def test_an_int_too_large_for_a_float_says_what_to_write() -> None:
    with pytest.raises(ArgumentRangeError) as caught:
        identity("Float32")(10**30)
    assert caught.value.instead == "float(x)"


@pytest.mark.parametrize("arguments", [(), (1,), (1, 2, 3)])
def test_the_number_of_arguments_is_checked(arguments: tuple[int, ...]) -> None:
    add = function(
        "func.func @f(%a: i32, %b: i32) -> i32 { %c = arith.addi %a, %b : i32 return %c : i32 }",
        {"a": "Int32", "b": "Int32"},
        ("Int32",),
    )
    assert add(1, 2) == 3
    with pytest.raises(ArgumentCountError, match=rf"f\(\) takes 2 arguments but {len(arguments)} w") as caught:
        add(*arguments)
    assert isinstance(caught.value, TypeError)


def test_the_error_points_at_the_call_and_names_the_path() -> None:
    call = function("func.func @f(%a: i8) { return }", {"point.x[1]": "Int8"})
    assert call(5) is None
    with pytest.raises(ArgumentRangeError) as caught:
        call(300)
    error = caught.value
    assert error.span is not None
    assert error.span.file == __file__
    assert error.span.text().strip() == "call(300)"
    assert str(error).count("TT0603") == 1
    assert "'point.x[1]'" in str(error)
    assert error.found == "300"
    assert error.expected == "an int from -128 to 127"


def test_no_frame_but_the_callers() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        identity("Int32")(None)
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 1


def test_a_very_long_path_is_cut_not_overrun() -> None:
    call = function("func.func @f(%a: i8) { return }", {"p" * 5000: "Int8"})
    with pytest.raises(ArgumentRangeError, match="ppp"):
        call(300)


@pytest.mark.parametrize("dtype", ["Int128", "Uint128", "Tensor"])
def test_types_that_cannot_cross_are_refused_by_name(dtype: str) -> None:
    with pytest.raises(LoweringError, match=rf"parameter 'x' has type {dtype}"):
        function("func.func @f(%x: i128) { return }", {"x": dtype})
    with pytest.raises(LoweringError, match=rf"result 'result0' has type {dtype}"):
        function("func.func @f(%x: i32) -> i32 { return %x : i32 }", {"x": "Int32"}, (dtype,))
