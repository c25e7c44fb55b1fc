"""asin, acos, atan and atan2 of `f32` lanes: one odd polynomial each, and identities that bring every value into reach.

asin uses asin(x) = pi / 2 - 2 * asin(sqrt((1 - x) / 2)) above 1/2; atan uses atan(x) = pi / 2 - atan(1 / x) above 1.
"""

from __future__ import annotations

from triptych.ir.expressions import Expression, select
from triptych.targets.cpu.vector_math.combinations import copysign, fma, polynomial

_HALF_PI_HIGH, _HALF_PI_LOW = 1.5707963705062866, -4.371138828673793e-08
_PI_HIGH, _PI_LOW = 2 * _HALF_PI_HIGH, 2 * _HALF_PI_LOW
"""pi as a float and what that float lacks."""

_ASIN = (1.666666e-01, 7.500522e-02, 4.4513375e-02, 3.1839076e-02, 1.4315032e-02, 3.7696302e-02)
"""(asin(x) - x) / x**3 in x**2 for |x| <= 1/2; asin(x) then has a relative error of 2**-31."""
_ATAN = (
    *(-3.3333328e-01, 1.9999716e-01, -1.4280343e-01, 1.1061233e-01, -8.821462e-02),
    *(6.763649e-02, -4.4983257e-02, 2.2777617e-02, -7.425363e-03, 1.1345221e-03),
)
"""(atan(x) - x) / x**3 in x**2 for |x| <= 1; atan(x) then has a relative error of 2**-31."""


def asin(x: Expression) -> Expression:
    """NaN beyond 1, from the square root. Where the subtraction from pi / 2 rounds, the loss is added again."""
    far, main, small = _asin_parts(x)
    high = fma(main, -2.0, _HALF_PI_HIGH)
    low = fma(main, -2.0, _HALF_PI_HIGH - high) + fma(small, -2.0, _HALF_PI_LOW)
    return copysign(select(far, high + low, main + small), x)


def acos(x: Expression) -> Expression:
    """Near 1 no subtraction of pi / 2 may hide the small result."""
    far, main, small = _asin_parts(x)
    angle = main + small
    outer = select(x < 0.0, _subtracted_from_pi(2.0 * angle), 2.0 * angle)
    return select(far, outer, _subtracted_from_half_pi(copysign(angle, x)))


def atan(x: Expression) -> Expression:
    """1 / infinity is 0, so infinities need no care."""
    size = abs(x)
    far = size > 1.0
    angle = _atan_of_proper(select(far, 1.0 / size, size))
    return copysign(select(far, _subtracted_from_half_pi(angle), angle), x)


def atan2(y: Expression, x: Expression) -> Expression:
    """The angle of the point (x, y); signed zeros and infinities as C has them."""
    width, height = abs(x), abs(y)
    steep = height > width
    long, short = select(steep, height, width), select(steep, width, height)
    slope = short / select(long.equals(0.0), 1.0, long)
    slope = select(short.equals(long) & (long > 0.0), 1.0, slope)
    angle = _atan_of_proper(slope)
    angle = select(steep, _subtracted_from_half_pi(angle), angle)
    angle = select(x.bits() < 0, _subtracted_from_pi(angle), angle)
    return select(x.differs(x), x, copysign(angle, y))


def _asin_parts(x: Expression) -> tuple[Expression, Expression, Expression]:
    """Whether |x| is above 1/2, and, as a sum of two, asin(|x|) or, there, asin(sqrt((1 - |x|) / 2))."""
    size = abs(x)
    far = size > 0.5
    square = select(far, fma(size, -0.5, 0.5), size * size)
    root = select(far, square.applied("sqrt"), size)
    return far, root, root * square * polynomial(square, _ASIN)


def _atan_of_proper(x: Expression) -> Expression:
    square = x * x
    return fma(x * square, polynomial(square, _ATAN), x)


def _subtracted_from_half_pi(angle: Expression) -> Expression:
    return _HALF_PI_HIGH - (angle - _HALF_PI_LOW)


def _subtracted_from_pi(angle: Expression) -> Expression:
    return _PI_HIGH - (angle - _PI_LOW)
