"""log, log2, log10 and log1p of `f32` lanes: the exponent's share plus a polynomial around 1.

x = m * 2**k with m in [2/3, 4/3), so k is 0 where the result is near 0 and nothing cancels there.
"""

from __future__ import annotations

import math

from triptych.ir.expressions import Expression, select
from triptych.targets.cpu.vector_math.binary_floats import power_of_two, split, split_any
from triptych.targets.cpu.vector_math.combinations import fma, polynomial
from triptych.targets.cpu.vector_math.exponentials import LN2_HIGH, LN2_LOW

_LOG1P = (
    *(3.3333334e-01, -2.4999826e-01, 1.9999684e-01, -1.667936e-01, 1.4302601e-01),
    *(-1.2198558e-01, 1.07709914e-01, -1.283378e-01, 1.1952775e-01),
)
"""(log(1 + f) - f + f**2 / 2) / f**3 for |f| <= 1/3; log(1 + f) then has a relative error of 2**-30."""

_LOG2_E_HIGH, _LOG2_E_LOW = 1.4426950216293335, 1.925963033500011e-08
_LOG10_E_HIGH, _LOG10_E_LOW = 0.4342944920063019, -1.0103049952192578e-08
_LOG10_2_HIGH, _LOG10_2_LOW = 0.3010300099849701, -1.432098883924482e-08
"""Constants as a float and what that float lacks."""


def log(x: Expression) -> Expression:
    """Natural logarithm."""
    k, m = split_any(x)
    return _with_special_values(x, _natural(_as_float(k, x), m - 1.0))


def log1p(x: Expression) -> Expression:
    """log(1 + x); what the addition rounds away is added to the significand again."""
    total = 1.0 + x
    k, m = split(total)
    lost = x - (total - 1.0)
    f = fma(lost, power_of_two(-_at_most_bias(k), x.element), m - 1.0)
    result = _with_special_values(total, _natural(_as_float(k, x), f))
    return select(abs(x) < 2.0**-25, x, result)


def log2(x: Expression) -> Expression:
    """Logarithm to base 2; exact for powers of two."""
    k, m = split_any(x)
    high, low = _log1p_parts(m - 1.0)
    fraction = fma(high, _LOG2_E_HIGH, fma(high, _LOG2_E_LOW, low * _LOG2_E_HIGH))
    return _with_special_values(x, _as_float(k, x) + fraction)


def log10(x: Expression) -> Expression:
    """Logarithm to base 10."""
    k, m = split_any(x)
    high, low = _log1p_parts(m - 1.0)
    exponent = _as_float(k, x)
    rest = fma(exponent, _LOG10_2_LOW, fma(high, _LOG10_E_LOW, low * _LOG10_E_HIGH))
    return _with_special_values(x, fma(exponent, _LOG10_2_HIGH, fma(high, _LOG10_E_HIGH, rest)))


def _natural(k: Expression, f: Expression) -> Expression:
    return fma(k, LN2_HIGH, f + fma(k, LN2_LOW, _log1p_tail(f)))


def _log1p_tail(f: Expression) -> Expression:
    """log(1 + f) - f."""
    return f * f * fma(f, polynomial(f, _LOG1P), -0.5)


def _log1p_parts(f: Expression) -> tuple[Expression, Expression]:
    """log(1 + f) as a float and what that float lacks: the multiplication that follows would magnify the loss."""
    tail = _log1p_tail(f)
    high = f + tail
    return high, tail - (high - f)


def _with_special_values(x: Expression, result: Expression) -> Expression:
    """-inf at 0, inf at inf, and NaN below 0 and for NaN."""
    result = select(x < math.inf, result, x)
    result = select(x.equals(0.0), -math.inf, result)
    return select(x < 0.0, math.nan, result)


def _as_float(k: Expression, x: Expression) -> Expression:
    return k.convert("sitofp", x.element)


def _at_most_bias(k: Expression) -> Expression:
    """The inverse of a larger power of two is no normal number; nothing is lost where x is that large."""
    return select(k > 127, 127, k)
