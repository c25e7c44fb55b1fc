"""Conversions of PTX (`cvt`), and floating-point arithmetic with one rounding, in any direction, of NumPy arrays."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray

Numbers: TypeAlias = NDArray[Any]
"""An array, as a rule with a number of each thread."""
Mask: TypeAlias = NDArray[np.bool_]
"""The threads that take part."""


def exact_sum(left: Numbers, right: Numbers) -> Any:
    """The sum of doubles, rounded to odd: a further rounding to half its digits or fewer is as good as the only one."""
    total = left + right
    of_right = total - left
    error = (left - (total - of_right)) + (right - of_right)
    bits = total.view(np.int64)
    beyond = (error < 0) != (total < 0)  # the rounding was away from zero
    odd = ((bits - beyond) | 1).view(np.float64)
    return np.where(np.isfinite(total) & (error != 0), odd, total)


def fused(a: Numbers, b: Numbers, c: Numbers) -> Any:
    """a * b + c of numbers of at most 26 digits, rounded to odd in double precision."""
    return exact_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))


def fused_doubles(a: Numbers, b: Numbers, c: Numbers) -> Any:
    """a * b + c of doubles, each to the nearest."""
    return np.vectorize(_libm().fma, otypes=[np.float64])(a, b, c)


@cache
def _libm() -> Any:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.fma.restype = ctypes.c_double
    library.fma.argtypes = [ctypes.c_double] * 3
    return library


def rounded(number: Numbers, kind: DTypeLike, mode: str = "rn") -> Any:
    """A double, rounded to a narrower type to the nearest, to zero, down or up."""
    nearest = number.astype(kind)
    if mode == "rn":
        return nearest
    back = nearest.astype(np.float64)
    up, down = np.array([np.inf, -np.inf], kind)
    too_high, too_low = back > number, back < number
    if mode == "rz":
        too_high, too_low = too_high & (number > 0), too_low & (number < 0)
    elif mode == "rm":
        too_low = np.zeros_like(too_low)
    else:
        too_high = np.zeros_like(too_high)
    return np.where(too_high, np.nextafter(nearest, down), np.where(too_low, np.nextafter(nearest, up), nearest))


def to_bfloat(number: Numbers) -> Any:
    """The bits of bf16 nearest to each number."""
    towards_zero = rounded(number.astype(np.float64), np.float32, "rz")
    bits = towards_zero.view(np.uint32) | (towards_zero != number)  # odd if it is not all
    nearest = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> np.uint64(16)).astype(np.uint16)
    return np.where(np.isnan(number), np.uint16(0x7FFF), nearest)


def from_bfloat(bits: Numbers) -> Any:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def flushed(number: Numbers) -> Any:
    """Zero with its sign for what is smaller than a normal f32."""
    return np.where(np.abs(number) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), number), number)


def smaller(left: Numbers, right: Numbers, *, larger: bool = False, nan: bool = False) -> Any:
    """min or max: of a number and NaN the number, or NaN where that is asked for; -0 is less than 0."""
    first = (left > right) if larger else (left < right)
    first |= (left == right) & (np.signbit(left) != larger)
    result = np.where(np.isnan(right), left, np.where(first | np.isnan(left) & nan, left, right))
    return np.where(np.isnan(right) & nan, right, result)


Meaning = tuple[str, Sequence[str], Callable[..., Any]]
FLOATS = ("f16", "bf16", "f32", "f64")


@dataclass(frozen=True, slots=True)
class Narrow:
    """A type of which a pair fits into 16 bits: its largest number, and how many bits each of a pair has."""

    kind: Any
    most: float
    width: int = 8
    of_nan: float = np.nan
    """What NaN becomes: of the narrowest types, which have none, the largest number."""


NARROW_PAIRS = {
    "e4m3x2": Narrow(ml_dtypes.float8_e4m3fn, 448),
    "e5m2x2": Narrow(ml_dtypes.float8_e5m2, 57344),
    "e3m2x2": Narrow(ml_dtypes.float6_e3m2fn, 28, of_nan=28),
    "e2m3x2": Narrow(ml_dtypes.float6_e2m3fn, 7.5, of_nan=7.5),
    "e2m1x2": Narrow(ml_dtypes.float4_e2m1fn, 6, 4, of_nan=6),
    "ue8m0x2": Narrow(ml_dtypes.float8_e8m0fnu, 2.0**127),
}
_TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_MOST = {"f16": 65504.0, "bf16": float.fromhex("0x1.fep127")}
_ARRAYS = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": np.float32}


def conversion(marks: Sequence[str]) -> Meaning:
    """The types of the result and the operands, and the function."""
    *options, to, source = marks
    if to == "ue8m0x2":
        return "b16", [source] * 2, partial(_exponents, "rp" in options, "satfinite" in options)
    if to in NARROW_PAIRS:
        narrow = NARROW_PAIRS[to]
        return f"b{2 * narrow.width}", [source] * (2 if source == "f32" else 1), partial(_narrow_pair, narrow, source)
    if source in NARROW_PAIRS:
        narrow = NARROW_PAIRS[source]
        return to, [f"b{2 * narrow.width}"], partial(_widened_pair, narrow, to)
    if to in ("f16x2", "bf16x2"):
        return to, ["f32", "f32"], partial(_pair, to, is_finite="satfinite" in options)
    if to == "tf32":
        return "b32", [source], _to_tf32
    if source in FLOATS and to in FLOATS:
        return to, [source], partial(_between_floats, source, to, frozenset(options))
    if source in FLOATS:
        return to, [source], partial(_to_integer, source, to, options)
    if to in FLOATS:
        return to, [source], partial(_from_integer, to, options)
    return to, [source], partial(_between_integers, to, "sat" in options)


def _pair(to: str, upper: Numbers, lower: Numbers, *, is_finite: bool = False) -> Any:
    if is_finite:
        upper, lower = (_finite(each, to[:-2]) for each in (upper, lower))
    halves = [to_bfloat(each) if to == "bf16x2" else each.astype(np.float16).view(np.uint16) for each in (lower, upper)]
    return halves[0].astype(np.uint32) | (halves[1].astype(np.uint32) << np.uint32(16))


def _finite(number: Numbers, to: str) -> Any:
    """What is too large is the largest number; NaN stays."""
    return np.clip(number, -_MOST[to], _MOST[to])


def _narrow_pair(narrow: Narrow, source: str, *numbers: Numbers) -> Any:
    if source == "f32":
        upper, lower = numbers
    else:
        halves = [(numbers[0] >> np.uint32(shift)).astype(np.uint16) for shift in (0, 16)]
        lower, upper = (half.view(np.float16).astype(np.float32) for half in halves)
    numbers = tuple(np.where(np.isnan(each), np.float32(narrow.of_nan), each) for each in (lower, upper))
    limited = (np.clip(each, -narrow.most, narrow.most) for each in numbers)
    low, high = (each.astype(narrow.kind).view(np.uint8).astype(f"u{narrow.width // 4}") for each in limited)
    return low | (high << low.dtype.type(narrow.width))


def _exponents(up: bool, is_finite: bool, upper: Numbers, lower: Numbers) -> Any:
    """Powers of two, which have no sign: of zero, and of what is smaller than 2^-127, that one."""
    sizes = [each.view(np.uint32) & np.uint32(0x7FFFFFFF) for each in (lower, upper)]
    found = []
    for size in sizes:
        beside = np.where(size < 1 << 23, size > 1 << 22, (size & np.uint32(0x7FFFFF)) != 0)
        power = np.minimum((size >> np.uint32(23)) + (beside & up), 0xFE if is_finite else 0xFF)
        found.append(np.where(size > np.uint32(0x7F800000), 0xFF, power).astype(np.uint16))
    return found[0] | (found[1] << np.uint16(8))


def _widened_pair(narrow: Narrow, to: str, word: Numbers) -> Any:
    most = (1 << narrow.width) - 1
    bits = [((word >> word.dtype.type(shift)) & word.dtype.type(most)).astype(np.uint8) for shift in (0, narrow.width)]
    low, high = (each.view(narrow.kind).astype(np.float32) for each in bits)
    return _pair(to, high, low)


def _to_tf32(number: Numbers) -> Any:
    bits = number.view(np.uint32)
    nearest = (bits.astype(np.uint64) + 0xFFF + ((bits >> np.uint32(13)) & 1)).astype(np.uint32) & np.uint32(0xFFFFE000)
    return np.where(np.isnan(number), np.uint32(0x7FFFFFFF), nearest)


def _between_floats(source: str, to: str, options: frozenset[str], number: Numbers) -> Any:
    value = from_bfloat(number) if source == "bf16" else number
    if "ftz" in options and source == "f32":
        value = flushed(value)
    for mode, function in _TO_INTEGER.items():
        if mode in options:
            value = function(value)
    if "sat" in options:
        value = np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1))
    if "satfinite" in options:
        value = _finite(value, to)
    if to == "bf16":
        return to_bfloat(value)
    modes = [mode for mode in ("rz", "rm", "rp") if mode in options]
    return rounded(value.astype(np.float64), _ARRAYS[to], *modes)


def _to_integer(source: str, to: str, options: Sequence[str], number: Numbers) -> Any:
    """What is too large is the largest; NaN is 0, and the smallest number of 64 bits."""
    value = (from_bfloat(number) if source == "bf16" else number).astype(np.float64)
    mode = next(mode for mode in _TO_INTEGER if mode in options)
    bits, signed = int(to[1:]), to[0] == "s"
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    of_nan = 0 if bits < 64 else (least if signed else 1 << 63)
    whole = [
        of_nan if np.isnan(each) else int(np.clip(each, -1e30, 1e30))
        for each in np.atleast_1d(_TO_INTEGER[mode](value))
    ]
    return np.array([min(max(each, least), most) for each in whole], f"{'i' if signed else 'u'}{bits // 8}")


def _odd_double(number: Numbers) -> Any:
    """An integer as a double that rounds to fewer bits as it does: odd in its last bit where it is not all."""
    exact = number.astype(np.float64)
    if number.dtype.itemsize < 8:
        return exact
    upper = number >> number.dtype.type(11)
    bits = upper | ((upper << number.dtype.type(11)) != number)
    return np.where(np.abs(exact) < 2.0**53, exact, bits.astype(np.float64) * 2.0**11)


def _from_integer(to: str, options: Sequence[str], number: Numbers) -> Any:
    if to == "f64":
        return number.astype(np.float64)
    if to == "f32" and "rn" in options:
        return number.astype(np.float32)
    if to == "bf16":
        return to_bfloat(_odd_double(number))
    if to == "f16":  # what is no double is infinite
        return rounded(number.astype(np.float64), np.float16, *(mode for mode in ("rz", "rm", "rp") if mode in options))
    raise NotImplementedError(f"cvt.{'.'.join(options)}.{to} of {number.dtype}")


def _between_integers(to: str, saturates: bool, number: Numbers) -> Any:
    kind = np.dtype(f"{'i' if to[0] == 's' else 'u'}{int(to[1:]) // 8}")
    if saturates:
        info = np.iinfo(kind)
        return np.array([min(max(int(each), info.min), info.max) for each in np.atleast_1d(number)], kind)
    return number.astype(kind)
