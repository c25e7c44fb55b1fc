"""Trigonometric functions and their inverses, of `f32` lanes.

sin, cos and tan are polynomials on an eighth of a turn to both sides of a multiple of pi / 2.
The rest r of the angle is kept in two floats, because near a multiple of pi / 2 it is nearly all that counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.expressions import Expression, select
from triptych.ir.handles import Attribute, Operation, Type, Value
from triptych.ir.modules import symbols
from triptych.kernel_ir.transforms.mathematics.binary_floats import copysign, fma, nearest_integer, polynomial
from triptych.support.dataclass import dataclass

# Numbers that the common formula cannot serve: a separate function computes them, only when there is such a lane.
# Input: the common results and the lanes they are wrong for. Output: results right in every lane. The function is
# made once per module and lane count, so that a formula used often does not repeat its rare part.

Body = Callable[[Expression], tuple[Expression, ...]]


def corrected(
    common: Sequence[Expression], wrong: Expression, name: str, body: Body, x: Expression
) -> tuple[Expression, ...]:
    """`common`, with the lanes that are wrong taken from `body(x)`; one number's body stands where it is needed."""
    builder = x.builder
    types = [result.value.type for result in common]
    function = None if x.lanes is None else _function(name, body, x, types)
    choice = builder.operation("scf.if", (wrong.value if x.lanes is None else _any(wrong),), types, regions=2)
    after = builder.enter(builder.append_block(choice, 0))
    if function is None:
        chosen = [result.value for result in body(x)]
    else:
        call = builder.operation("func.call", (x.value,), types, {"callee": function})
        rare = [replace(old, value=value) for value, old in zip(call.results, common, strict=True)]
        chosen = [select(wrong, new, old).value for new, old in zip(rare, common, strict=True)]
    builder.operation("scf.yield", chosen)
    builder.enter(builder.append_block(choice, 1))
    builder.operation("scf.yield", [result.value for result in common])
    builder.leave(after)
    return tuple(replace(old, value=value) for value, old in zip(choice.results, common, strict=True))


def _any(condition: Expression) -> Value:
    builder = condition.builder
    kind = {"kind": builder.attribute("#vector.kind<or>")}
    return builder.value("vector.reduction", (condition.value,), "i1", kind)


def _function(name: str, body: Body, x: Expression, types: Sequence[Type]) -> Attribute:
    """The symbol of the function, which is built at the end of the module when it is not there yet."""
    builder, module = x.builder, x.builder.enclosing_module
    assert module is not None, "a formula with a part of its own is built in a module"
    symbol = f"triptych.{name}.{x.lanes}"
    if symbol not in symbols(module):
        before, place = builder.insertion, builder.location
        builder.location = builder.unknown
        function, block = builder.function(module, symbol, [x.value.type], builder.unknown)
        builder.finish_function(function, [x.value.type], types)
        builder.enter(block)
        results = body(replace(x, value=block.arguments[0]))
        builder.operation("func.return", [result.value for result in results])
        _mark(function, builder)
        builder.insertion, builder.location = before, place
    reference: Attribute = bindings.mlir().FlatSymbolRefAttr.get(symbol, context=builder.context)
    return reference


def _mark(function: Operation, builder: Builder) -> None:
    function.attributes["sym_visibility"] = builder.string("private")
    function.attributes["llvm.linkage"] = builder.attribute("#llvm.linkage<internal>")
    function.attributes["llvm.readnone"] = builder.attribute("unit")
    function.attributes["llvm.passthrough"] = builder.attribute('["noinline", "cold", "nounwind", "willreturn"]')


# Reduction of angles that ordinary arithmetic cannot reduce: the product with 2 / pi in integers (Payne and Hanek).
# Input: `f32` lanes of at least 2**16. Output: the quadrant and the rest in two floats. An angle is m * 2**e with m
# of 24 bits. Bits of 2 / pi that only add multiples of four quadrants are skipped; the next 96 leave, after two bits
# for the quadrant and at most 30 zeros (no float is nearer to a multiple of pi / 2), more than 32 bits of the rest.

_WORDS = (0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB)
"""The first bits of 2 / pi, after 32 zeros for the smallest angles."""
_FIRST_EXPONENT = 120
"""The biased exponent for which the bits begin at the first word."""
_STARTS = range(5)


def reduce_large_angle(x: Expression) -> tuple[Expression, Expression, Expression]:
    """`(quadrant, rest, what the float rest lacks)`; NaN for infinities."""
    pattern = x.bits()
    position = ((pattern >> 23) & 0xFF) - _FIRST_EXPONENT
    significand = _wide((pattern & 0x7FFFFF) | 0x800000)
    quarters = _product(significand, _window(position))
    quadrant = (quarters + (1 << 61)).shifted_right_signed(62) & 3
    angle = (quarters - (quadrant << 62)).convert("sitofp", "f64") * (math.pi / 2 * 2.0**-62)
    angle = select(x < 0.0, -angle, angle)
    rest = angle.convert("truncf", "f32")
    lacking = (angle - rest.convert("extf", "f64")).convert("truncf", "f32")
    quadrant = quadrant.convert("trunci", "i32")
    return select(x < 0.0, -quadrant, quadrant), select(abs(x) < math.inf, rest, math.nan), lacking


def _product(significand: Expression, window: tuple[Expression, Expression, Expression]) -> Expression:
    """The upper 64 of the 96 bits of the product, modulo four quadrants; a quadrant is 2**62."""
    high, middle, low = (significand * word for word in window)
    return (high << 32) + middle + (low >> 32)


def _window(position: Expression) -> tuple[Expression, Expression, Expression]:
    """Three words of 32 bits of 2 / pi that begin at a bit position."""
    start, shift = position >> 5, _wide(position & 31)
    words = [_wide(_word(start, offset)) for offset in range(4)]
    pairs = ((first << 32) | second for first, second in pairwise(words))
    first, second, third = ((pair << shift) >> 32 for pair in pairs)
    return first, second, third


def _word(start: Expression, offset: int) -> Expression:
    word = start.filled(_WORDS[offset])
    for index in _STARTS[1:]:
        word = select(start.equals(index), _WORDS[index + offset] if index + offset < len(_WORDS) else 0, word)
    return word


def _wide(x: Expression) -> Expression:
    return x.convert("extui", "i64")


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


# asin, acos, atan and atan2 of `f32` lanes: one odd polynomial each, and identities that bring every value into
# reach.

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
