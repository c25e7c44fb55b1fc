"""Sizes of what loads and stores of kernels move: elements, and vectors of them."""

from __future__ import annotations

from triptych.ir.handles import Type
from triptych.ir.types import bit_width, element_type, is_integer, lanes

_WIDTHS = frozenset({16, 32, 64})


def bits_of(type_: Type) -> int:
    """The bits of a byte, of a number that registers hold, or of a vector of them; 0 for other types."""
    element = element_type(type_)
    width = bit_width(element)
    if width not in _WIDTHS and not is_integer(element, 8):
        return 0
    return (width or 0) * (lanes(type_) or 1)
