"""Exponentials exp, exp2 and expm1 of `f32` lanes: a power of two times a polynomial on half a binade around 1.

exp(x) = 2**n * exp(r) with n the integer nearest to x / ln 2, so that |r| <= ln 2 / 2.
"""

from __future__ import annotations

from triptych.ir.expressions import Expression, select
from triptych.targets.cpu.vector_math.binary_floats import nearest_integer, power_of_two, scaled
from triptych.targets.cpu.vector_math.combinations import clamp, fma, polynomial

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
