"""Hyperbolic functions, their inverses and erf of `f32` lanes: from exp or log, from an odd polynomial near 0."""

from __future__ import annotations

import math

from triptych.ir.expressions import Expression, select
from triptych.targets.cpu.vector_math.binary_floats import at_most, copysign, fma, polynomial, power_of_two, scaled
from triptych.targets.cpu.vector_math.exponentials import exp_parts, log1p

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
