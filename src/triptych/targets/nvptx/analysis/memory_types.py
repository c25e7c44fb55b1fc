"""Sizes of what loads and stores of kernels move: elements, and vectors of them."""

from __future__ import annotations

from triptych.ir.handles import Type
from triptych.ir.types import count_and_element, is_float, is_integer

_INTEGERS = frozenset({8, 16, 32, 64})
_FLOATS = frozenset({16, 32, 64})


def bits_of(type_: Type) -> int:
    """The bits of a number that instructions move, or of a vector of them; 0 for other types."""
    count, element = count_and_element(type_) or (1, type_)
    if (is_integer(element) and element.width in _INTEGERS) or (is_float(element) and element.width in _FLOATS):
        return count * element.width
    return 0
