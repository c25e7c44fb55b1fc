"""What narrow floats should be: `ml_dtypes` for single conversions, exact fractions for everything."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from triptych.support.float_formats import FLOAT_FORMATS, FloatFormat

ML_DTYPES = {
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
}
BYTES = tuple(name for name in ML_DTYPES if name not in ("f16", "bf16"))
"""The formats of 8 bits and fewer."""


def patterns(name: str) -> NDArray[Any]:
    """Every bit pattern of a format."""
    return np.arange(1 << FLOAT_FORMATS[name].width, dtype=np.uint16 if name in ("f16", "bf16") else np.uint8)


def numbers(found: NDArray[Any], name: str) -> NDArray[Any]:
    """Bit patterns as the Float32 that `ml_dtypes` says they are."""
    with np.errstate(invalid="ignore"):
        single: NDArray[Any] = found.view(ML_DTYPES[name]).astype(np.float32)
    return single


def rounded(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Float32 to bit patterns, by `ml_dtypes`; zero, which it makes NaN where there is none, as PyTorch does."""
    with np.errstate(invalid="ignore", over="ignore"):
        found = values.astype(ML_DTYPES[name]).view(patterns(name).dtype)
    return found if FLOAT_FORMATS[name].signed else np.where(values == 0, found.dtype.type(0), found)


def same(found: NDArray[Any], expected: NDArray[Any]) -> Any:
    """Where two arrays of floats agree: in their bits, all NaNs being one."""
    equal = (found == expected) & (np.signbit(found) == np.signbit(expected))
    return equal | (np.isnan(found) & np.isnan(expected))


def interesting(name: str) -> NDArray[Any]:
    """Float32 around every decision of a rounding: numbers of the format, midpoints, their neighbours, and any."""
    values = numbers(patterns(name), name)
    finite = np.unique(values[np.isfinite(values)].astype(np.float64))
    step = finite[-1] - finite[-2]
    finite = (
        np.concatenate([[finite[0] - step], finite, [finite[-1] + step]]) if np.isfinite(finite[-1] + step) else finite
    )
    with np.errstate(over="ignore", invalid="ignore"):
        centres = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2]).astype(np.float32)
        around = [centres, np.nextafter(centres, np.float32(np.inf)), np.nextafter(centres, np.float32(-np.inf))]
    any_bits = np.random.default_rng(7).integers(0, 1 << 32, 50_000, dtype=np.uint32).view(np.float32)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38, -3.4e38], np.float32)
    return np.concatenate([*around, any_bits, special])


def nearest(value: Fraction, form: FloatFormat) -> int:
    """The bit pattern of a signed format nearest to an exact number other than zero."""
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= int(Fraction(2) ** exponent > size)
    last = max(exponent - form.mantissa_bits, form.smallest_exponent)
    magnitude = ((last - form.smallest_exponent) << form.mantissa_bits) + round(size / Fraction(2) ** last)
    pattern = form.overflow if magnitude > form.largest else magnitude
    return pattern | form.sign if value < 0 and (pattern or form.negative_zero) else pattern


def is_nan(pattern: int, form: FloatFormat) -> bool:
    return math.isnan(form.decode(pattern))
