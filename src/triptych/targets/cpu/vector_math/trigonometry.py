"""sin, cos and tan of `f32` lanes: polynomials on an eighth of a turn to both sides of a multiple of pi / 2.

The rest r of the angle is kept in two floats, because near a multiple of pi / 2 it is nearly all that counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from triptych.ir.expressions import Expression, select
from triptych.targets.cpu.vector_math.binary_floats import nearest_integer
from triptych.targets.cpu.vector_math.cold_path import corrected
from triptych.targets.cpu.vector_math.combinations import fma, polynomial
from triptych.targets.cpu.vector_math.large_angles import reduce_large_angle

_TWO_OVER_PI = 0.6366197723675814
_HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
"""pi / 2 as a sum of three floats."""
_LARGEST = 2.0**17
"""Up to here the first float of pi / 2 is subtracted without error and three of them are enough."""

_SIN = (-1.6666654e-01, 8.332106e-03, -1.9507883e-04)
"""(sin(r) - r) / r**3 in r**2; sin(r) then has a relative error of 2**-27.8."""
_COS = (4.1666646e-02, -1.3887304e-03, 2.4431196e-05)
"""(cos(r) - 1 + r**2 / 2) / r**4 in r**2; cos(r) then has a relative error of 2**-32.8."""
_TAN = (3.3333352e-01, 1.3332577e-01, 5.4069877e-02, 2.1229884e-02, 1.0973496e-02, -8.750494e-05, 4.464761e-03)
"""(tan(r) - r) / r**3 in r**2; tan(r) then has a relative error of 2**-29.3."""


def sin(x: Expression) -> Expression:
    """-0 gives -0, which the sums would lose."""
    return select(x.equals(0.0), x, _sin_of(_reduced(x)))


def cos(x: Expression) -> Expression:
    """For every angle, however large."""
    return _cos_of(_reduced(x))


def sincos(x: Expression) -> tuple[Expression, Expression]:
    """Both, from one reduction."""
    angle = _reduced(x)
    return select(x.equals(0.0), x, _sin_of(angle)), _cos_of(angle)


def tan(x: Expression) -> Expression:
    """As `sin`."""
    return select(x.equals(0.0), x, _tan_of(_reduced(x)))


def sin_fast(x: Expression) -> Expression:
    """Right up to 2**17, as the fast sine of a graphics processor is for moderate angles only; -0 gives 0."""
    return _sin_of(_reduced_moderate(x))


def cos_fast(x: Expression) -> Expression:
    """As `sin_fast`."""
    return _cos_of(_reduced_moderate(x))


def sincos_fast(x: Expression) -> tuple[Expression, Expression]:
    """As `sin_fast`."""
    angle = _reduced_moderate(x)
    return _sin_of(angle), _cos_of(angle)


def tan_fast(x: Expression) -> Expression:
    """As `sin_fast`."""
    return _tan_of(_reduced_moderate(x))


@dataclass(frozen=True, slots=True)
class _Angle:
    """quadrant * pi / 2 + rest + lacking: a rest of at most pi / 4 and what that float lacks."""

    quadrant: Expression
    rest: Expression
    lacking: Expression


def _reduced(x: Expression) -> _Angle:
    common = _reduced_moderate(x)
    parts = (common.quadrant, common.rest, common.lacking)
    return _Angle(*corrected(parts, abs(x) > _LARGEST, "reduce_large_angle", reduce_large_angle, x))


def _reduced_moderate(x: Expression) -> _Angle:
    """What the product and its subtraction round away is computed without error."""
    whole, quadrant = nearest_integer(x, _TWO_OVER_PI)
    first, second, third = _HALF_PI
    coarse = fma(whole, -first, x)
    product = whole * second
    rest = coarse - product
    lost = (coarse - rest) - product - fma(whole, second, -product)
    return _Angle(quadrant, rest, fma(whole, -third, lost))


def _cos_of(angle: _Angle) -> Expression:
    """The sine a quadrant further."""
    return _sin_of(replace(angle, quadrant=angle.quadrant + 1))


def _sin_of(angle: _Angle) -> Expression:
    """The sine or cosine of the rest, with the sign of the quadrant."""
    rest, square = angle.rest, angle.rest * angle.rest
    sine = rest + fma(rest * square, polynomial(square, _SIN), angle.lacking)
    cosine = 1.0 + fma(square, fma(square, polynomial(square, _COS), -0.5), -angle.lacking * rest)
    value = select((angle.quadrant & 1).equals(0), sine, cosine)
    return (value.bits() ^ ((angle.quadrant & 2) << 30)).bits_as(rest.element)


def _tan_of(angle: _Angle) -> Expression:
    """The tangent of the rest or, in odd quadrants, -1 divided by it. Its derivative is 1 + tan(rest)**2."""
    rest, square = angle.rest, angle.rest * angle.rest
    cubic = rest * square * polynomial(square, _TAN)
    rough = rest + cubic
    tangent = rest + fma(angle.lacking, fma(rough, rough, 1.0), cubic)
    return select((angle.quadrant & 1).equals(0), tangent, -1.0 / tangent)
