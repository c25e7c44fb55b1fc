"""Putting numbers in the place of symbolic integers.

Input: a tuple, layout or requirement, and numbers for its symbols. Output: the same value with those numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triptych.layout.basis import ScaledBasis
from triptych.layout.composed import ComposedLayout
from triptych.layout.integers import Int
from triptych.layout.layout import Layout
from triptych.layout.symbolic import SymInt


def substitute(value: object, bindings: Mapping[str, Int]) -> Any:
    """The value with every symbol of `bindings` replaced."""
    match value:
        case SymInt():
            return value.substitute(bindings)
        case tuple():
            return tuple(substitute(item, bindings) for item in value)
        case ScaledBasis():
            return ScaledBasis(substitute(value.value, bindings), value.mode)
        case Layout():
            return Layout(substitute(value.shape, bindings), substitute(value.stride, bindings))
        case ComposedLayout():
            parts = (value.inner, value.offset, value.outer)
            return ComposedLayout(*(substitute(part, bindings) for part in parts))
        case _:
            return value
