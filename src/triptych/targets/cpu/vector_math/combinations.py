"""Formula building blocks beside operators: fused products, bounds, signs and polynomials."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir.expressions import Expression, Operand, select


def fma(a: Operand, b: Operand, c: Operand) -> Expression:
    """`a * b + c`, rounded once."""
    like = next(operand for operand in (a, b, c) if isinstance(operand, Expression))
    return like.emit("math.fma", a, b, c)


def clamp(x: Expression, low: float, high: float) -> Expression:
    """Between the bounds; NaN stays NaN, because it compares false."""
    return at_most(select(x < low, low, x), high)


def at_most(x: Expression, high: float) -> Expression:
    """Not above the bound; NaN stays NaN."""
    return select(x > high, high, x)


def copysign(magnitude: Operand, sign: Expression) -> Expression:
    """The magnitude with the sign of `sign`."""
    return sign.emit("math.copysign", magnitude, sign)


def polynomial(x: Expression, coefficients: Sequence[float]) -> Expression:
    """By Horner's rule, the constant coefficient first."""
    *lower, highest = coefficients
    total = x.filled(highest)
    for coefficient in reversed(lower):
        total = fma(total, x, coefficient)
    return total
