"""Exponentials, logarithms, and what is made of them, of `f32` lanes: powers, hyperbolic functions, erf.

An exponential is a power of two times a polynomial on half a binade around 1.

exp(x) = 2**n * exp(r) with n the integer nearest to x / ln 2, so that |r| <= ln 2 / 2.
"""

from __future__ import annotations

import math

from triptych.ir.expressions import Expression, select
from triptych.kernel_ir.transforms.mathematics.binary_floats import (
    at_most,
    clamp,
    copysign,
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


# Hyperbolic functions, their inverses and erf of `f32` lanes: from exp or log, from an odd polynomial near 0.

_SINH = (1.6666667e-01, 8.3333105e-03, 1.9842896e-04, 2.7822132e-06)
"""(sinh(x) - x) / x**3 in x**2 for |x| <= 1; sinh(x) then has a relative error of 2**-31."""
_TANH = (-3.333328e-01, 1.3331406e-01, -5.3736515e-02, 2.0628167e-02, -5.692296e-03)
"""(tanh(x) - x) / x**3 in x**2 for |x| <= 5/8; tanh(x) then has a relative error of 2**-27.7."""


def sinh(x: Expression) -> Expression:
    """(exp(x) - exp(-x)) / 2, both halves from one exp."""
    size = abs(x)
    half = _half_exp(size)
    return select(size < 1.0, _odd(x, _SINH), copysign(half - 0.25 / half, x))


def cosh(x: Expression) -> Expression:
    """(exp(x) + exp(-x)) / 2."""
    half = _half_exp(abs(x))
    return half + 0.25 / half


def tanh(x: Expression) -> Expression:
    """1 - 2 / (exp(2 * x) + 1); beyond 10 that is 1 in every float."""
    size = abs(x)
    n, significand = exp_parts(2.0 * at_most(size, 10.0))
    far = 1.0 - 2.0 / fma(significand, power_of_two(n, x.element), 1.0)
    return select(size < 0.625, _odd(x, _TANH), copysign(far, x))


def _half_exp(x: Expression) -> Expression:
    """exp(x) / 2, which is finite where the hyperbolic functions are; x is not negative."""
    n, significand = exp_parts(at_most(x, 90.0))
    return scaled(significand, n - 1)


def _odd(x: Expression, coefficients: tuple[float, ...]) -> Expression:
    """The sign is copied because the sum of -0 and a product with the other sign is +0."""
    square = x * x
    return copysign(fma(x * square, polynomial(square, coefficients), x), x)


# asinh, acosh and atanh of `f32` lanes, all from log1p, whose argument is small where the result is.

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


# erf of `f32` lanes: an odd polynomial near 0, and 1 - exp(-q) with a polynomial q further out.

_NEAR = (1.2837917e-01, -3.7612626e-01, 1.1283579e-01, -2.6853347e-02, 5.187162e-03, -7.997853e-04, 7.806903e-05)
"""erf(x) / x - 1 in x**2 for |x| <= 1; erf(x) then has a relative error of 2**-29.4."""
_FAR = (3.205674e-04, 1.1271716e00, 6.380123e-01, 1.03218116e-01, -2.18896e-02, 2.9601068e-03, -1.8760463e-04)
"""-log(1 - erf(x)) for 1 <= x <= 4; erf(x) then has a relative error of 2**-29.7."""


def erf(x: Expression) -> Expression:
    """Beyond 4 the result is 1 in every float."""
    size = abs(x)
    near = fma(x, polynomial(x * x, _NEAR), x)
    n, significand = exp_parts(-polynomial(at_most(size, 4.0), _FAR))
    far = 1.0 - significand * power_of_two(n, x.element)
    return select(size < 1.0, near, copysign(far, x))


# Powers of `f32` lanes: pow and cbrt.
#
# pow goes through `f64`: the exponent y * log2(x) has up to 8 bits before the point, and a float would lack them behind
# it. In `f64` no `f32` is subnormal, and the last conversion rounds, overflows and underflows as it should.

_LOG2 = (
    *(1.44269504089257, -0.721347520469111, 0.480898343807173, -0.3606737519046896, 0.288539457896474),
    *(-0.24044998146208799, 0.2060753542870038, -0.18030249379601146, 0.16090195557424006, -0.1450140386546114),
    *(0.12347711580771827, -0.11172777843688071, 0.1577985490004779, -0.1505754085168316),
)
"""log2(1 + f) / f for |f| <= 1/3, with a relative error of 2**-38.5; a division would cost more than its length."""
_EXP2_F64 = (
    *(1.0000000005541556, 0.6931472057373329, 0.24022646890650354, 0.0555032877681101),
    *(0.00961848895567845, 0.0013399931274398111, 0.0001534581241236948),
)
"""2**r for |r| <= 1/2, with a relative error of 2**-29."""
_INVERSE_CUBE_ROOT_OF_ONE = 0x54A21D2A
"""Minus a third of the bits of x, this is the bits of about x ** (-1/3): bits count logarithms."""


def power(x: Expression, y: Expression) -> Expression:
    """All special cases as C has them."""
    size = abs(x)
    exponent = y.convert("extf", "f64") * _log2(size)
    exponent = select(size.equals(1.0) | y.equals(0.0), 0.0, exponent)
    return _with_sign(x, y, _exp2(clamp(exponent, -160.0, 130.0)).convert("truncf", "f32"))


def power_fast(x: Expression, y: Expression) -> Expression:
    """2 ** (y * log2(x)); the error grows with the exponent, and a negative x gives NaN."""
    return exp2(y * log2(x))


def _with_sign(x: Expression, y: Expression, size: Expression) -> Expression:
    """Odd integers keep the sign of x; other numbers are no exponents of a finite negative x."""
    half = y * 0.5
    whole = y.equals(y.applied("trunc"))
    odd = whole & half.differs(half.applied("trunc"))
    size = select((x < 0.0) & (x > -math.inf) & ~whole, math.nan, size)
    return select(odd, copysign(size, x), size)


def _log2(x: Expression) -> Expression:
    """log2 of a positive `f32`, in `f64`."""
    wide = x.convert("extf", "f64")
    k, m = split(wide)
    f = m - 1.0
    result = fma(f, polynomial(f, _LOG2), k.convert("sitofp", "f64"))
    result = select(x < math.inf, result, wide)
    return select(x.equals(0.0), -math.inf, result)


def _exp2(x: Expression) -> Expression:
    whole, n = nearest_integer(x)
    return polynomial(x - whole, _EXP2_F64) * power_of_two(n, "f64")


def cbrt(x: Expression) -> Expression:
    """x times the square of x ** (-1/3), whose iteration needs no division, and one step of Newton's rule."""
    subnormal = abs(x) < 2.0**-126
    size = abs(select(subnormal, x * 2.0**24, x))
    third = (size.bits().convert("sitofp", "f32") * (1.0 / 3.0)).convert("fptosi", "i32")
    inverse = (_INVERSE_CUBE_ROOT_OF_ONE - third).bits_as("f32")
    for _ in range(2):
        off = 1.0 - (size * inverse) * (inverse * inverse)
        inverse = fma(inverse * off, fma(off, 2.0 / 9.0, 1.0 / 3.0), inverse)
    square = inverse * inverse
    root = size * square
    root = fma(fma(-root * root, root, size), square * (1.0 / 3.0), root)
    root = select(subnormal, root * 2.0**-8, root)
    return copysign(select(size < math.inf, root, size), x)
