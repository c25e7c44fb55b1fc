"""Hyperbolics sinh, cosh and tanh of `f32` lanes: from exp where it dominates, from an odd polynomial near 0."""

from __future__ import annotations

from triptych.ir.expressions import Expression, select
from triptych.targets.cpu.vector_math.binary_floats import power_of_two, scaled
from triptych.targets.cpu.vector_math.combinations import at_most, copysign, fma, polynomial
from triptych.targets.cpu.vector_math.exponentials import exp_parts

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
