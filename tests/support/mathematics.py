"""What `cute.math` promises, as data: the table of the guide is made from it and the laws measure it.

Input: nothing. Output: for every function its domain, where to sample it, what it is compared with, and how far a
Float32 result on the CPU may be from the exact one, in units of its last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LARGE = 3e38
TINY = 1e-45


@dataclass(frozen=True, slots=True)
class Promise:
    """One function: `ulp` is the largest error, 0.5 is correct rounding, 0 is exact."""

    name: str
    formula: str
    domain: str
    low: float
    high: float
    ulp: float
    reference: Callable[[float], float]

    def samples(self, count: int, seed: int) -> NDArray[np.float32]:
        """Numbers of the domain: half of them spread evenly, half of them over all exponents, and its ends."""
        chance = np.random.default_rng(seed)
        spread = chance.uniform(self.low, self.high, count)
        largest = math.log10(max(abs(self.low), abs(self.high)))
        sizes = 10.0 ** chance.uniform(-44, largest, count) * chance.choice([-1.0, 1.0], count)
        numbers = np.concatenate([spread, sizes, [self.low, self.high]]).astype(np.float32)
        return numbers[(numbers >= self.low) & (numbers <= self.high)]


def _rsqrt(x: float) -> float:
    return 1.0 / math.sqrt(x)


PROMISES = (
    Promise("sqrt", "square root", "x >= 0", 0.0, LARGE, 0.5, math.sqrt),
    Promise("rsqrt", "1 / sqrt(x)", "x > 0", TINY, LARGE, 2, _rsqrt),
    Promise("cbrt", "cube root", "all", -LARGE, LARGE, 2, math.cbrt),
    Promise("exp", "e ** x", "all", -104, 88.7, 2, math.exp),
    Promise("exp2", "2 ** x", "all", -150, 127.9, 2, math.exp2),
    Promise("expm1", "e ** x - 1", "all", -20, 88.7, 2, math.expm1),
    Promise("log", "natural logarithm", "x > 0", TINY, LARGE, 2, math.log),
    Promise("log2", "logarithm to base 2", "x > 0", TINY, LARGE, 2, math.log2),
    Promise("log10", "logarithm to base 10", "x > 0", TINY, LARGE, 2, math.log10),
    Promise("log1p", "log(1 + x)", "x > -1", -0.9999999, LARGE, 2, math.log1p),
    Promise("sin", "sine", "all, in radians", -1e7, 1e7, 2, math.sin),
    Promise("cos", "cosine", "all, in radians", -1e7, 1e7, 2, math.cos),
    Promise("tan", "tangent", "all, in radians", -1e7, 1e7, 3, math.tan),
    Promise("asin", "arc sine", "-1 <= x <= 1", -1, 1, 2, math.asin),
    Promise("acos", "arc cosine", "-1 <= x <= 1", -1, 1, 2, math.acos),
    Promise("atan", "arc tangent", "all", -LARGE, LARGE, 2, math.atan),
    Promise("sinh", "hyperbolic sine", "all", -89.4, 89.4, 3, math.sinh),
    Promise("cosh", "hyperbolic cosine", "all", -89.4, 89.4, 3, math.cosh),
    Promise("tanh", "hyperbolic tangent", "all", -20, 20, 3, math.tanh),
    Promise("asinh", "inverse of sinh", "all", -LARGE, LARGE, 3, math.asinh),
    Promise("acosh", "inverse of cosh", "x >= 1", 1, LARGE, 3, math.acosh),
    Promise("atanh", "inverse of tanh", "-1 < x < 1", -0.9999999, 0.9999999, 3, math.atanh),
    Promise("erf", "error function", "all", -5, 5, 3, math.erf),
    Promise("erfc", "1 - erf(x)", "all", -5, 10, 4, math.erfc),
    Promise("rcp", "1 / x", "x != 0", 1e-38, LARGE, 0.5, lambda x: 1.0 / x),
    Promise("floor", "whole number below", "all", -1e9, 1e9, 0, math.floor),
    Promise("ceil", "whole number above", "all", -1e9, 1e9, 0, math.ceil),
    Promise("trunc", "whole number toward zero", "all", -1e9, 1e9, 0, math.trunc),
    Promise("roundeven", "nearest whole number, ties to even", "all", -1e9, 1e9, 0, round),
    Promise("round", "nearest whole number, ties away from zero", "all", -1e9, 1e9, 0, lambda x: _away(x)),
    Promise("absf", "absolute value", "all", -LARGE, LARGE, 0, abs),
    Promise("neg", "opposite sign", "all", -LARGE, LARGE, 0, lambda x: -x),
)

OTHERS = {
    "abs": "absolute value; of integers an integer",
    "absi": "absolute value of an integer",
    "add": "x + y",
    "atan2": "angle of the point (x, y); at most 2 ulp",
    "clamp": "max(lo, min(x, hi))",
    "copysign": "size of the first, sign of the second",
    "div": "x / y, correctly rounded",
    "fma": "a * b + c, rounded once",
    "fpowi": "float to the power of an integer; at most 4 ulp",
    "ipowi": "integer to the power of an integer, modulo its width",
    "isfinite": "neither infinite nor NaN",
    "isinf": "infinite",
    "isnan": "not a number",
    "isnormal": "neither zero, subnormal, infinite nor NaN",
    "max": "larger one; ignores NaN unless propagate_nan",
    "min": "smaller one; ignores NaN unless propagate_nan",
    "mul": "x * y",
    "pow": "float to the power of a float; at most 4 ulp",
    "rem": "remainder with the sign of x, exact",
    "sincos": "(sin(x), cos(x))",
    "sub": "x - y",
}
"""Functions that are exact, correctly rounded or made of others."""


def ulps(found: float, exact: float) -> float:
    """How far a Float32 is from the exact number, in units of its last place."""
    if math.isinf(found) and abs(exact) > float(np.finfo(np.float32).max):
        return 0.0
    unit = float(np.spacing(np.abs(np.float32(exact))))
    return abs(found - exact) / (unit if math.isfinite(unit) else float(np.spacing(np.finfo(np.float32).max)))


def _away(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x)
