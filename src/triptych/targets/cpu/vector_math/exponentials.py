"""Exponentials exp, exp2, expm1 and logarithms of `f32` lanes.

An exponential is a power of two times a polynomial on half a binade around 1.

exp(x) = 2**n * exp(r) with n the integer nearest to x / ln 2, so that |r| <= ln 2 / 2.
"""

from __future__ import annotations

import math

from triptych.ir.expressions import Expression, select
from triptych.targets.cpu.vector_math.binary_floats import (
    clamp,
    fma,
    nearest_integer,
    polynomial,
    power_of_two,
    scaled,
    split,
    split_any,
)

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.6931471824645996
LN2_LOW = -1.9046542121259336e-09
"""ln 2 as a float and what that float lacks: n * ln 2 is subtracted with the error of the second part only."""

_EXP = (4.9999994e-01, 1.6666521e-01, 4.166829e-02, 8.368704e-03, 1.381894e-03)
"""(exp(r) - 1 - r) / r**2; exp(r) then has a relative error of 2**-28.2."""
_EXPM1 = (5e-01, 1.6666666e-01, 4.1666493e-02, 8.333543e-03, 1.3932365e-03, 1.9764331e-04)
"""The same with a relative error of exp(r) - 1 of 2**-31."""
_EXP2 = (6.931472e-01, 2.4022648e-01, 5.5503596e-02, 9.618503e-03, 1.3390997e-03, 1.5327803e-04)
"""(2**r - 1) / r for |r| <= 1/2; 2**r then has a relative error of 2**-28.3."""


def exp(x: Expression) -> Expression:
    """Beyond the bounds the result is 0 or infinity; inside them the power of two is in reach of `scaled`."""
    n, significand = exp_parts(clamp(x, -104.0, 89.0))
    return scaled(significand, n)


def exp2(x: Expression) -> Expression:
    """As `exp`; no part of x is lost in the reduction."""
    x = clamp(x, -151.0, 129.0)
    whole, n = nearest_integer(x)
    r = x - whole
    return scaled(fma(r, polynomial(r, _EXP2), 1.0), n)


def expm1(x: Expression) -> Expression:
    """2**n * (exp(r) - 1) + (2**n - 1), computed as twice its half, because 2**128 is not a float."""
    n, r = _reduced(clamp(x, -18.0, 89.0))
    grown = fma(r * r, polynomial(r, _EXPM1), r)
    half = power_of_two(n - 1, x.element)
    total = 2.0 * fma(half, grown, half - 0.5)
    return select(abs(x) < 2.0**-25, x, total)


def exp_parts(x: Expression) -> tuple[Expression, Expression]:
    """`(n, m)` with exp(x) = m * 2**n and m near 1, for |x| below a hundred or so."""
    n, r = _reduced(x)
    return n, fma(r * r, polynomial(r, _EXP), r) + 1.0


def _reduced(x: Expression) -> tuple[Expression, Expression]:
    whole, n = nearest_integer(x, LOG2_E)
    return n, fma(whole, -LN2_LOW, fma(whole, -LN2_HIGH, x))


# log, log2, log10 and log1p of `f32` lanes: the exponent's share plus a polynomial around 1.

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
