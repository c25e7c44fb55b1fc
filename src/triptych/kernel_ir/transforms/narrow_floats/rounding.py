"""Formulas that take narrow floats to Float32 and back: exact one way, rounded once, to nearest even, the other.

Input and output: expressions over the element types in which narrow floats are stored. There are no branches, because
the formulas run on all lanes of a warp at once. Hardware instructions are used only where they round as IEEE 754 says:
x86 converts to bfloat16 by an instruction that takes subnormal numbers for zero.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import reduce
from math import gcd

from triptych.ir.expressions import Expression, select
from triptych.support.float_formats import FLOAT_FORMATS, FloatFormat

_INFINITY = 0x7F800000
_MAGNITUDE = 0x7FFFFFFF
_QUIET = 0x00400000
_HALF = FLOAT_FORMATS["f16"]


def widen(value: Expression, form: FloatFormat) -> Expression:
    """A stored narrow float as the same number in Float32."""
    if form.mlir in ("f16", "bf16", "tf32"):
        return value.convert("extf", "f32")
    return _widen_small(value, form) if form.signed else _widen_power(value)


def widen_bits(bits: Expression) -> Expression:
    """The bits of a BFloat16, which are the upper half of a Float32, as that Float32."""
    return (bits.convert("extui", "i32") << 16).bits_as("f32")


def _widen_small(value: Expression, form: FloatFormat) -> Expression:
    """Move the fields to their places in a Float16, whose conversion is one instruction, and mend the exponent.

    The Float16 may be subnormal, which costs that instruction nothing; arithmetic on subnormal Float32 is slow.
    """
    pattern = value.convert("extui", "i16")
    if not form.has_infinity and form.exponent_bits == _HALF.exponent_bits:
        return _widen_full_range(pattern, form)
    number = _as_half(pattern, form)
    if form.nan is None or form.exponent_bits == _HALF.exponent_bits:
        return number
    if not form.negative_zero:
        return select(pattern.equals(form.nan), math.nan, number)
    magnitude = pattern & (form.sign - 1)
    special = number.filled(math.nan)
    if form.has_infinity:
        special = select(magnitude.equals(form.overflow), number * math.inf, special)
    return select(magnitude > form.largest, special, number)


def _widen_full_range(pattern: Expression, form: FloatFormat) -> Expression:
    """Of a format that has numbers where a Float16 has infinities: these as their halves, times two."""
    assert form.nan is not None, "all patterns but one are numbers"
    is_large = (pattern & (form.sign - 1)) > (((1 << form.exponent_bits) - 1) << form.mantissa_bits) - 1
    number = _as_half(select(is_large, pattern - (1 << form.mantissa_bits), pattern), form)
    return select(pattern.equals(form.nan), math.nan, select(is_large, number * 2.0, number))


def _as_half(pattern: Expression, form: FloatFormat) -> Expression:
    """The fields as those of a Float16, in Float32."""
    aligned = (pattern << (16 - form.width)).shifted_right_signed(_HALF.exponent_bits - form.exponent_bits)
    if form.exponent_bits < _HALF.exponent_bits:
        fields = (form.sign - 1) << (_HALF.mantissa_bits - form.mantissa_bits)
        aligned = aligned & (_HALF.sign | fields)
    number = aligned.bits_as("f16").convert("extf", "f32")
    if form.bias != _HALF.bias:
        number = number * math.ldexp(1.0, _HALF.bias - form.bias)
    return number


def _widen_power(value: Expression) -> Expression:
    """Float8E8M0FNU is the exponent of a Float32; its smallest number is subnormal there."""
    pattern = value.convert("extui", "i32")
    bits = select(pattern.equals(0), _QUIET, pattern << 23)
    return select(pattern.equals(0xFF), _INFINITY | _QUIET, bits).bits_as("f32")


def narrow(value: Expression, form: FloatFormat, *, saturate: bool = False) -> Expression:
    """A Float32 as the nearest stored narrow float; `saturate` keeps what is too large finite."""
    if form.mlir == "f16":
        rounded = value.convert("truncf", "f16")
    elif form.bias == 127:
        rounded = _narrow_same_range(value, form) if form.signed else _narrow_power(value, saturate)
    else:
        return _narrow_small(value, form, saturate)
    return clamped(rounded, form) if saturate and form.signed else rounded


def _narrow_small(value: Expression, form: FloatFormat, saturate: bool) -> Expression:
    bits = value.bits()
    size = bits & _MAGNITUDE
    dropped = 23 - form.mantissa_bits
    last = (size >> dropped) & 1
    normal = ((size + ((1 << (dropped - 1)) - 1) + last) >> dropped) - ((127 - form.bias) << form.mantissa_bits)
    # Beside this number the last bit of a Float32 is the last bit of a subnormal result: adding it rounds there.
    anchor = math.ldexp(1.0, 23 + form.smallest_exponent)
    small = (size.bits_as("f32") + anchor).bits() - _float32_bits(anchor)
    magnitude = select(size < _float32_bits(math.ldexp(1.0, 1 - form.bias)), small, normal)
    beyond = form.largest if saturate else form.overflow
    magnitude = select(magnitude > form.largest, beyond, magnitude)
    pattern = magnitude | ((bits >> (32 - form.width)) & form.sign)
    if not form.negative_zero:
        pattern = select(magnitude.equals(0), 0, pattern)
    nan = form.largest if form.nan is None else form.nan
    return select(size > _INFINITY, nan, pattern).convert("trunci", "i8")


def _narrow_same_range(value: Expression, form: FloatFormat) -> Expression:
    """BFloat16 and TF32 are a Float32 with fewer bits at its end: rounding carries into the exponent by itself."""
    bits = value.bits()
    dropped = 23 - form.mantissa_bits
    rounded = bits + ((1 << (dropped - 1)) - 1) + ((bits >> dropped) & 1)
    chosen = select((bits & _MAGNITUDE) > _INFINITY, bits | _QUIET, rounded)
    if form.width == 16:
        return (chosen >> 16).convert("trunci", "i16").bits_as("bf16")
    return (chosen & -(1 << dropped)).bits_as("f32")


def _narrow_power(value: Expression, saturate: bool) -> Expression:
    """To the nearest power of two, halfway up, of either zero the smallest; what is negative becomes NaN."""
    bits = value.bits()
    half = select(bits < 1 << 23, 1 << 21, bits.filled(1 << 22))
    power = (bits + half) >> 23
    power = select(bits > _INFINITY - 1, 0xFF, power)
    if saturate:
        power = select(power > 0xFE, 0xFE, power)
        power = select(bits > _INFINITY, 0xFF, power)
    power = select(bits > -1, power, 0xFF)
    return select((bits & _MAGNITUDE).equals(0), 0, power).convert("trunci", "i8")


def clamped(value: Expression, form: FloatFormat) -> Expression:
    """Infinities replaced by the largest number of their sign."""
    bits = value.bits()
    width = 32 if form.mlir == "tf32" else 16
    spare = 13 if form.mlir == "tf32" else 0
    magnitude = bits & ((1 << (width - 1)) - 1)
    largest = (bits & (1 << (width - 1))) | (form.largest << spare)
    return select(magnitude.equals(form.overflow << spare), largest, bits).bits_as(value.element)


def overflows(value: Expression, form: FloatFormat) -> Expression:
    """Whether a Float32 rounds to more than the largest number; NaN does not.

    Halfway to where the next number would be, the tie goes to the pattern that is even. In formats with infinity or NaN
    right above the largest number, the saturated pattern and one are what an overflow gives.
    """
    assert form.overflow == form.largest + 1, "an overflow is one above the largest number"
    largest = form.decode(form.largest)
    halfway = largest + (largest - form.decode(form.largest - 1)) / 2
    return abs(value) >= halfway if form.largest % 2 else abs(value) > halfway


def round_to_odd(value: Expression) -> Expression:
    """A Float64 as a Float32 that a later rounding cannot tell from it: inexact results get an odd last bit."""
    near = value.convert("truncf", "f32")
    back = near.convert("extf", "f64")
    bits = near.bits()
    is_short = (back.bits() & ((1 << 63) - 1)) < (value.bits() & ((1 << 63) - 1))
    toward = bits + select(is_short, 1, bits.filled(-1))
    inexact = back.lies_beside(value) & (bits & 1).equals(0)
    return select(inexact, toward, bits).bits_as("f32")


def sum_to_odd(left: Expression, right: Expression) -> Expression:
    """The sum of two Float64 with an odd last bit where it is inexact, by the exact error of a float addition."""
    total = left + right
    part = total - left
    error = (left - (total - part)) + (right - part)
    bits = total.bits()
    inexact = error.lies_beside(0.0) & (bits & 1).equals(0)
    same_sign = (error.bits() & (1 << 63)).equals(bits & (1 << 63))
    toward = bits + select(same_sign, 1, bits.filled(-1))
    return select(inexact, toward, bits).bits_as("f64")


def _float32_bits(value: float) -> int:
    pattern: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return pattern


def unpack(packed: Expression, width: int) -> Expression:
    """Bytes, as a vector of i8, to one element of `width` bits in the low bits of each byte."""
    assert packed.lanes is not None, "bytes come as a vector"
    group, group_bytes = _group(width)
    parts = [packed.pick(range(first, packed.lanes, group_bytes)) for first in range(group_bytes)]
    return _interleaved([_element(parts, k * width, width) for k in range(group)])


def pack(elements: Expression, width: int) -> Expression:
    """The other way round; the bits above an element are zero."""
    assert elements.lanes is not None, "elements come as a vector"
    group, group_bytes = _group(width)
    parts = [elements.pick(range(first, elements.lanes, group)) for first in range(group)]
    return _interleaved([_byte(parts, 8 * b, width) for b in range(group_bytes)])


def _group(width: int) -> tuple[int, int]:
    """After how many elements, and bytes, elements begin at the same bits again."""
    return 8 // gcd(8, width), width // gcd(8, width)


def _element(parts: Sequence[Expression], bit: int, width: int) -> Expression:
    """The elements that begin at `bit` of their groups; they may end in the next byte."""
    byte, begin = divmod(bit, 8)
    value = parts[byte] >> begin
    if begin + width > 8:
        value = value | (parts[byte + 1] << (8 - begin))
    return value if begin + width == 8 else value & ((1 << width) - 1)


def _byte(parts: Sequence[Expression], bit: int, width: int) -> Expression:
    """The bytes at `bit` of their groups, from the elements that lie in them."""
    places = [(part, k * width - bit) for k, part in enumerate(parts) if -width < k * width - bit < 8]
    shifted = [part << at if at >= 0 else part >> -at for part, at in places]
    return reduce(lambda left, right: left | right, shifted)


def _interleaved(parts: Sequence[Expression]) -> Expression:
    """The first elements of all parts, then the second ones, and so on."""
    joined = reduce(lambda left, right: left.join(right), parts)
    assert joined.lanes is not None, "vectors joined are a vector"
    each = joined.lanes // len(parts)
    return joined.pick([k * each + i for i in range(each) for k in range(len(parts))])
