"""Whether the order of a set is the same in every process: text, classes and most objects have another hash in each.

Sets of numbers, and of tuples of numbers, are walked in an order that follows from how they were made.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from types import NoneType

_NUMBERS = frozenset({bool, int, complex})


def has_own_order(elements: Collection[object]) -> bool:
    """Whether walking a set shows an order that only this process has."""
    return len(elements) > 1 and not all(map(_is_hashed_alike, elements))


def _is_hashed_alike(value: object) -> bool:
    kind = type(value)
    if kind in _NUMBERS:
        return True
    if kind is float:
        return value == value  # a NaN is hashed by its address
    if kind is NoneType:
        return sys.version_info >= (3, 12)  # before, by its address
    return kind in (tuple, frozenset) and all(map(_is_hashed_alike, value))  # type: ignore[call-overload]
