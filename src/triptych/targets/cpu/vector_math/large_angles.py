"""Reduction of angles that ordinary arithmetic cannot reduce: the product with 2 / pi in integers (Payne and Hanek).

Input: `f32` lanes of at least 2**16. Output: the quadrant and the rest in two floats. An angle is m * 2**e with m of
24 bits. Bits of 2 / pi that only add multiples of four quadrants are skipped; the next 96 leave, after two bits for
the quadrant and at most 30 zeros (no float is nearer to a multiple of pi / 2), more than 32 bits of the rest.
"""

from __future__ import annotations

import math
from itertools import pairwise

from triptych.ir.expressions import Expression, select

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
