"""Narrow floats on the CPU are what their formats say: equal to `ml_dtypes`, exhaustively, NaN payloads aside."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import triptych as tt
from tests.laws.floats.elementwise import LANES, elementwise
from tests.laws.floats.oracles import (
    BYTES,
    ML_DTYPES,
    interesting,
    is_nan,
    nearest,
    numbers,
    patterns,
    rounded,
    same,
)
from triptych.support.float_formats import FLOAT_FORMATS

each_format = pytest.mark.parametrize("name", ML_DTYPES)
scalar_and_vector = pytest.mark.parametrize("lanes", LANES)
OPERATORS = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide}


def convert(operation: str, source: str, target: str, marks: str = "", result: str = "%r0") -> str:
    return f"    {result} = arith.{operation} %a0 {marks} : T({source}) to T({target})\n"


def as_float64(values: NDArray[Any]) -> NDArray[Any]:
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def check(found: NDArray[Any], expected: NDArray[Any], name: str, values: NDArray[Any]) -> None:
    """Bit patterns of a format agree; where not, the first disagreements are shown with what they came from."""
    wrong = ~same(numbers(found, name), numbers(expected, name))
    shown = [
        (float(v).hex(), hex(f), hex(e)) for v, f, e in zip(values[wrong], found[wrong], expected[wrong], strict=True)
    ]
    assert not shown, shown[:10]


def without_ml_dtypes_exceptions(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Leaves out NaN where the format has none, and where `ml_dtypes` does not round to the nearest.

    Just above the smallest power of two, 2^-127, it rounds every number of Float8E8M0FNU up.
    """
    if FLOAT_FORMATS[name].nan is None:
        values = values[~np.isnan(values)]
    if name == "f8E8M0FNU":
        values = values[~((values > 2.0**-127) & (values < 1.5 * 2.0**-127))]
    return values


# the formats themselves ---------------------------------------------------------------------------------------------
@each_format
def test_patterns_mean_what_ml_dtypes_says(name: str) -> None:
    form = FLOAT_FORMATS[name]
    found = np.array([form.decode(int(pattern)) for pattern in patterns(name)])
    assert same(found, as_float64(numbers(patterns(name), name))).all()


@each_format
def test_python_floats_are_rounded_as_ml_dtypes_rounds(name: str) -> None:
    values = without_ml_dtypes_exceptions(interesting(name)[::7], name)
    found = np.array([FLOAT_FORMATS[name].encode(float(value)) for value in values], patterns(name).dtype)
    check(found, rounded(values, name), name, values)


# conversions --------------------------------------------------------------------------------------------------------
@scalar_and_vector
@each_format
def test_every_pattern_widens_exactly(name: str, lanes: int | None) -> None:
    body = convert("extf", name, "f32") + convert("extf", name, "f64", result="%r1")
    single, double = elementwise(body, (name,), ("f32", "f64"), lanes)(patterns(name))
    assert same(single, numbers(patterns(name), name)).all()
    assert same(double, as_float64(numbers(patterns(name), name))).all()


@scalar_and_vector
@each_format
def test_float32_is_rounded_to_nearest_even(name: str, lanes: int | None) -> None:
    """What is too large becomes infinity or NaN, as the format has it, or, if asked for, the largest number."""
    form = FLOAT_FORMATS[name]
    values = without_ml_dtypes_exceptions(interesting(name), name)
    body = convert("truncf", "f32", name) + convert("truncf", "f32", name, "{triptych.saturate}", "%r1")
    found, finite = elementwise(body, ("f32",), (name, name), lanes)(values)
    check(found, rounded(values, name), name, values)
    largest = np.float32(form.decode(form.largest))
    clipped = np.clip(values, -largest if form.signed else None, largest)
    check(finite, rounded(clipped, name), name, values)


@pytest.mark.parametrize("name", BYTES)
def test_every_float16_is_rounded_to_nearest_even(name: str) -> None:
    values = patterns("f16")[~np.isnan(numbers(patterns("f16"), "f16"))]
    (found,) = elementwise(convert("truncf", "f16", name), ("f16",), (name,), 16)(values)
    check(found, rounded(numbers(values, "f16"), name), name, values)


@pytest.mark.parametrize("name", ["f4E2M1FN", "f6E2M3FN", "f6E3M2FN"])
def test_nan_becomes_the_largest_number_where_there_is_no_nan(name: str) -> None:
    values = np.array([np.nan, -np.nan], np.float32)
    (found,) = elementwise(convert("truncf", "f32", name), ("f32",), (name,), None)(values)
    assert list(found) == [FLOAT_FORMATS[name].largest] * 2


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("name", ["f8E5M2", "f16", "bf16", "tf32"])
def test_float64_is_rounded_once(name: str, lanes: int | None) -> None:
    """Beside a midpoint a Float64 can lie so near that Float32 is the midpoint itself."""
    form = FLOAT_FORMATS[name]
    magnitudes = random.Random(1).sample(range(1, form.largest), min(form.largest - 1, 700))
    middles = [(form.decode(m) + form.decode(m + 1)) / 2 for m in magnitudes if m < form.largest]
    values = np.array([sign * v for m in middles for v in (m, m * (1 + 2**-40), m * (1 - 2**-40)) for sign in (1, -1)])
    (found,) = elementwise(convert("truncf", "f64", name), ("f64",), (name,), lanes)(values)
    expected = np.array([form.encode(float(value)) for value in values])
    if name == "tf32":
        expected = np.array([form.decode(int(pattern)) for pattern in expected])
    assert (found == expected).all()


@scalar_and_vector
def test_tf32_is_float32_with_ten_bits(lanes: int | None) -> None:
    form = FLOAT_FORMATS["tf32"]
    values = np.random.default_rng(3).integers(0, 1 << 32, 20_000, dtype=np.uint32)
    values[::2] &= np.uint32(0xFFFFE000)
    values[::4] |= np.uint32(0x1000)
    floats = values.view(np.float32)
    (found,) = elementwise(convert("truncf", "f32", "tf32"), ("f32",), ("tf32",), lanes)(floats)
    assert same(found, np.array([form.round(float(value)) for value in floats], np.float32)).all()


@pytest.mark.parametrize(("operation", "low", "high"), [("sitofp", -(1 << 63), 1 << 63), ("uitofp", 0, 1 << 64)])
@scalar_and_vector
@pytest.mark.parametrize("name", ["bf16", "f16", "tf32", "f8E4M3FN"])
def test_wide_integers_are_rounded_once(name: str, lanes: int | None, operation: str, low: int, high: int) -> None:
    form, draw = FLOAT_FORMATS[name], random.Random(5)
    middles = [(draw.getrandbits(form.mantissa_bits + 1) * 2 + 1) << draw.randrange(63) for _ in range(500)]
    around = [sign * (middle + step) for middle in middles for step in (-1, 0, 1) for sign in (1, -1)]
    values = [value for value in (*around, low, high - 1, *range(-300, 300)) if low <= value < high and value]
    stored = np.array(values, np.int64 if low else np.uint64)
    (found,) = elementwise(convert(operation, "i64", name), ("i64",), (name,), lanes)(stored)
    expected = np.array([nearest(Fraction(value), form) for value in values])
    if name == "tf32":
        expected = np.array([form.decode(int(pattern)) for pattern in expected])
        assert (found == expected).all()
    else:
        check(found, expected.astype(found.dtype), name, stored)


def test_integers_of_128_bits_are_rounded_once() -> None:
    """They are made of two halves here, because Python hands over at most 64 bits."""

    @tt.jit
    def rounded_once(high: tt.Int64, low: tt.Uint64) -> Any:
        whole = (high.to(tt.Int128) << 64) | low.to(tt.Int128)
        return whole.to(tt.BFloat16), whole.to(tt.TFloat32)

    draw = random.Random(17)
    for _ in range(300):
        middle = (draw.getrandbits(draw.choice([8, 11])) * 2 + 1) << draw.randrange(115)
        for value in (middle, middle + 1, middle - 1, -middle, 1 - middle):
            if value:
                forms = FLOAT_FORMATS["bf16"], FLOAT_FORMATS["tf32"]
                expected = tuple(form.decode(nearest(Fraction(value), form)) for form in forms)
                assert rounded_once(value >> 64, value & ((1 << 64) - 1)) == expected


# arithmetic ---------------------------------------------------------------------------------------------------------
def arithmetic(name: str) -> str:
    return "".join(f"    %r{i} = arith.{operator} %a0, %a1 : T({name})\n" for i, operator in enumerate(OPERATORS))


@scalar_and_vector
@pytest.mark.parametrize("name", BYTES)
def test_every_pair_of_small_floats(name: str, lanes: int | None) -> None:
    """The exact result of Float64, rounded once through Float32, which is `ml_dtypes`' own arithmetic as well."""
    every = patterns(name)
    left, right = (grid.ravel() for grid in np.meshgrid(every, every, indexing="ij"))
    results = elementwise(arithmetic(name), (name, name), (name,) * 4, lanes)(left, right)
    for operate, found in zip(OPERATORS.values(), results, strict=True):
        with np.errstate(all="ignore"):
            exact = operate(as_float64(numbers(left, name)), as_float64(numbers(right, name)))
            theirs = operate(left.view(ML_DTYPES[name]), right.view(ML_DTYPES[name])).view(np.uint8)
        defined = ~np.isnan(exact) if FLOAT_FORMATS[name].nan is None else np.full(exact.shape, fill_value=True)
        if not FLOAT_FORMATS[name].signed:
            theirs = np.where(abs(exact) <= 2.0**-150, np.uint8(0), theirs)
        check(found[defined], theirs[defined], name, exact[defined])
        if FLOAT_FORMATS[name].signed:
            check(found[defined], _nearest_by_table(exact[defined], name), name, exact[defined])


def _nearest_by_table(exact: NDArray[Any], name: str) -> NDArray[Any]:
    """The nearest number of a format by looking it up among all of them: no bits are shifted here."""
    form = FLOAT_FORMATS[name]
    table = np.array([form.decode(magnitude) for magnitude in range(form.largest + 1)])
    table = np.append(table, 2 * table[-1] - table[-2])
    size = np.minimum(np.abs(np.nan_to_num(exact, nan=0.0, posinf=1e9, neginf=-1e9)), table[-1])
    below = np.minimum(np.searchsorted(table, size, side="right") - 1, form.largest)
    middle = (table[below] + table[below + 1]) / 2
    magnitude = below + ((size > middle) | ((size == middle) & (below % 2 == 1)))
    pattern = np.where(magnitude > form.largest, form.overflow, magnitude)
    negative = np.signbit(exact) & ((pattern != 0) | form.negative_zero)
    signed = np.where(negative, pattern | form.sign, pattern)
    return np.where(np.isnan(exact), form.nan or 0, signed).astype(np.uint8)


@pytest.mark.parametrize("lanes", [None, 16, 32])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_16_bit_arithmetic_is_rounded_once(name: str, lanes: int | None) -> None:
    bits = np.random.default_rng(11).integers(0, 1 << 16, (2, 1 << 16), dtype=np.uint16)
    bits[1, ::2] = (bits[0, ::2] & 0x7F00) | (bits[1, ::2] & 0x80FF)
    left, right = bits
    results = elementwise(arithmetic(name), (name, name), (name,) * 4, lanes)(left, right)
    for operate, found in zip(OPERATORS.values(), results, strict=True):
        with np.errstate(all="ignore"):
            expected = operate(left.view(ML_DTYPES[name]), right.view(ML_DTYPES[name])).view(np.uint16)
        check(found, expected, name, left)


@scalar_and_vector
@pytest.mark.parametrize("name", ["f16", "bf16", "f8E5M2", "f8E4M3FN"])
def test_a_fused_product_and_sum_is_rounded_once(name: str, lanes: int | None) -> None:
    form, draw = FLOAT_FORMATS[name], random.Random(13)

    def finite() -> int:
        return draw.randrange(form.largest + 1) | draw.choice([0, form.sign])

    triples = [(finite(), finite(), finite()) for _ in range(1000)]
    # A product at a midpoint, and something far below it that decides.
    one, step = form.encode(1.0), form.encode(1.0) + 1
    middle = form.encode(1.5)
    triples += [(step, middle, low | sign) for low in range(1, 40) for sign in (0, form.sign)]
    triples += [(one, one, one), (one, one, one | form.sign)]
    stored = [np.array(column, patterns(name).dtype) for column in zip(*triples, strict=True)]
    body = f"    %r0 = math.fma %a0, %a1, %a2 : T({name})"
    (found,) = elementwise(body, (name,) * 3, (name,), lanes)(*stored)
    for (a, b, c), pattern in zip(triples, found, strict=True):
        exact = Fraction(form.decode(a)) * Fraction(form.decode(b)) + Fraction(form.decode(c))
        expected = nearest(exact, form) if exact else pattern & form.sign
        assert pattern == expected or (is_nan(int(pattern), form) and is_nan(expected, form)), (a, b, c)


@pytest.mark.parametrize("name", [*BYTES, "bf16"])
def test_comparisons_are_those_of_the_numbers(name: str) -> None:
    every = patterns(name)[:: 257 if name == "bf16" else 1]
    left, right = (grid.ravel() for grid in np.meshgrid(every, every, indexing="ij"))
    body = f"    %t = arith.cmpf olt, %a0, %a1 : T({name})\n    %r0 = arith.extui %t : T(i1) to T(i8)"
    (found,) = elementwise(body, (name, name), ("i8",), 16)(left, right)
    with np.errstate(invalid="ignore"):
        assert (found == (numbers(left, name) < numbers(right, name))).all()
