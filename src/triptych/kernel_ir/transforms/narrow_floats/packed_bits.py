"""Elements narrower than a byte, packed from the low bits upwards: formulas that spread them out and pack them again.

LLVM takes such vectors apart element by element. Here elements that begin at the same bit of a byte are shifted
together: four operations for any number of 4-bit elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import gcd

from triptych.ir.expressions import Expression


def unpack(packed: Expression, width: int) -> Expression:
    """Bytes, as a vector of i8, to one element of `width` bits in the low bits of each byte."""
    assert packed.lanes is not None
    group, group_bytes = _group(width)
    parts = [packed.pick(range(first, packed.lanes, group_bytes)) for first in range(group_bytes)]
    return _interleaved([_element(parts, k * width, width) for k in range(group)])


def pack(elements: Expression, width: int) -> Expression:
    """The other way round; the bits above an element are zero."""
    assert elements.lanes is not None
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
    assert joined.lanes is not None
    each = joined.lanes // len(parts)
    return joined.pick([k * each + i for i in range(each) for k in range(len(parts))])
