"""What mathematical functions should return: NumPy in double precision, and the distance of a float from that."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Oracle = Callable[..., Array]

ORACLES: dict[str, Oracle] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "powf": np.power,
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}


def expected(name: str, *operands: Array) -> Array:
    """The function's values in double precision."""
    with np.errstate(all="ignore"):
        return np.asarray(ORACLES[name](*(operand.astype(np.float64) for operand in operands)))


def errors(found: Array, exact: Array) -> Array:
    """The distance from the exact values in units of the last place; infinite where a special value is wrong.

    A special value is a result that is, or rounds to, an infinity, a zero or NaN: it has to be that one exactly.
    """
    with np.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
        place = np.spacing(np.abs(rounded)).astype(np.float64)
        distance = np.abs(found.astype(np.float64) - exact) / place
        wrong_sign = (exact == 0) & (np.signbit(found) != np.signbit(exact))
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        special = ~np.isfinite(rounded) | ~np.isfinite(found) | (exact == 0)
        return np.where(special, np.where(same & ~wrong_sign, 0.0, np.inf), distance)
