"""Floating-point arithmetic with one rounding, in any direction, of numbers in NumPy arrays."""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache
from typing import Any

import numpy as np


def exact_sum(left: Any, right: Any) -> Any:
    """The sum of doubles, rounded to odd: a further rounding to half its digits or fewer is as good as the only one."""
    total = left + right
    of_right = total - left
    error = (left - (total - of_right)) + (right - of_right)
    bits = total.view(np.int64)
    beyond = (error < 0) != (total < 0)  # the rounding was away from zero
    odd = ((bits - beyond) | 1).view(np.float64)
    return np.where(np.isfinite(total) & (error != 0), odd, total)


def fused(a: Any, b: Any, c: Any) -> Any:
    """a * b + c of numbers of at most 26 digits, rounded to odd in double precision."""
    return exact_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))


def fused_doubles(a: Any, b: Any, c: Any) -> Any:
    """a * b + c of doubles, each to the nearest."""
    return np.vectorize(_libm().fma, otypes=[np.float64])(a, b, c)


@cache
def _libm() -> Any:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.fma.restype = ctypes.c_double
    library.fma.argtypes = [ctypes.c_double] * 3
    return library


def rounded(number: Any, kind: Any, mode: str = "rn") -> Any:
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


def to_bfloat(number: Any) -> Any:
    """The bits of bf16 nearest to each number."""
    towards_zero = rounded(number.astype(np.float64), np.float32, "rz")
    bits = towards_zero.view(np.uint32) | (towards_zero != number)  # odd if it is not all
    nearest = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> np.uint64(16)).astype(np.uint16)
    return np.where(np.isnan(number), np.uint16(0x7FFF), nearest)


def from_bfloat(bits: Any) -> Any:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def flushed(number: Any) -> Any:
    """Zero with its sign for what is smaller than a normal f32."""
    return np.where(np.abs(number) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), number), number)


def smaller(left: Any, right: Any, *, larger: bool = False, nan: bool = False) -> Any:
    """min or max: of a number and NaN the number, or NaN where that is asked for; -0 is less than 0."""
    first = (left > right) if larger else (left < right)
    first |= (left == right) & (np.signbit(left) != larger)
    result = np.where(np.isnan(right), left, np.where(first | np.isnan(left) & nan, left, right))
    return np.where(np.isnan(right) & nan, right, result)
