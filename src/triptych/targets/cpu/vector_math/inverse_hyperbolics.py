"""asinh, acosh and atanh of `f32` lanes, all from log1p, whose argument is small where the result is."""

from __future__ import annotations

import math

from triptych.ir.expressions import Expression, select
from triptych.targets.cpu.vector_math.combinations import copysign, fma
from triptych.targets.cpu.vector_math.logarithms import log1p

_LARGE = 2.0**24
"""From here on the square root is the value itself, and its square might overflow."""


def asinh(x: Expression) -> Expression:
    """log(x + sqrt(x**2 + 1)), without the cancellation of 1 near 0."""
    size = abs(x)
    square = size * size
    beyond_one = size + square / (1.0 + (square + 1.0).applied("sqrt"))
    return copysign(_log1p_or_log_of_double(size, beyond_one), x)


def acosh(x: Expression) -> Expression:
    """log(x + sqrt(x**2 - 1)); NaN below 1."""
    above = x - 1.0
    beyond_one = above + fma(above, above, 2.0 * above).applied("sqrt")
    return select(x < 1.0, math.nan, _log1p_or_log_of_double(x, beyond_one))


def atanh(x: Expression) -> Expression:
    """log((1 + x) / (1 - x)) / 2; NaN beyond 1."""
    size = abs(x)
    return copysign(0.5 * log1p(2.0 * size / (1.0 - size)), x)


def _log1p_or_log_of_double(x: Expression, beyond_one: Expression) -> Expression:
    large = x > _LARGE
    return log1p(select(large, x, beyond_one)) + select(large, x.filled(math.log(2.0)), 0.0)
