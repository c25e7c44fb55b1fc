"""Arguments of the layout algebra: what its functions have an answer for, and nothing else.

Input: the argument of a program. Output: what the algebra takes for it, or an error that says what the function is
about. Without this, an object that the algebra does not know would count as one integer, and `size` would give it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.cute.dynamic.traced_integers import ints
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tensors.value import TensorSSA
from triptych.layout import ComposedLayout, Layout
from triptych.layout.basis import ScaledBasis
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.aggregates import describe

_LAYOUTS = (Layout, ComposedLayout)


def layout_of(value: object) -> Any:
    """The layout of a tensor; everything else stays."""
    return value.layout if isinstance(value, Tensor) else value


def is_integer(leaf: object) -> bool:
    """Whether the algebra computes with it: a Python integer, or one that is known later."""
    kind = type(leaf)
    known = getattr(kind, "__index__", None) or getattr(kind, "known_equal", None)
    return known is not None and kind is not ScaledBasis


def _is_leaf(leaf: object) -> bool:
    return leaf is None or is_integer(leaf) or isinstance(leaf, ScaledBasis)


def _is_extent(value: object) -> bool:
    """Integers, and the layouts that a tile has in their place."""
    return all(map(_is_extent, value)) if isinstance(value, tuple) else is_integer(value) or isinstance(value, _LAYOUTS)


def _is_integers(value: object) -> bool:
    return all(map(_is_integers, value)) if isinstance(value, tuple) else is_integer(value)


def integers(name: str, value: object) -> Any:
    """An integer or a nested tuple of integers."""
    found = ints(value)
    return found if _is_integers(found) else _refuse(name, value, "an integer, or a tuple of integers")


def shaped(name: str, value: object) -> Any:
    """What has a shape: a layout, a tensor, a tensor value, or a shape itself, also that of a tile."""
    found = value.shape if isinstance(value, TensorSSA) else layout_of(ints(value))
    if isinstance(found, _LAYOUTS) or _is_extent(found):
        return found
    return _refuse(name, value, "a layout, a tensor or a shape")


def nested(name: str, value: object) -> Any:
    """What nests: a layout, a tensor, a tensor value, or a tuple of anything, of which a number is a single leaf."""
    return with_modes(name, value.shape if isinstance(value, TensorSSA) else value)


def with_modes(name: str, value: object) -> Any:
    """What has modes to take, group or add: a layout, a tensor, or a tuple of anything."""
    return untied(name, value.layout if isinstance(value, Tensor) else value)


def untied(name: str, value: object) -> Any:
    """A layout, or a tuple of anything."""
    found = ints(value)
    if isinstance(found, (*_LAYOUTS, tuple)) or _is_leaf(found):
        return found
    return _refuse(name, value, "a layout, a tensor or a tuple")


def tuples(name: str, value: object) -> Any:
    """A tuple of anything, of which a number is a single leaf."""
    if isinstance(value, (*_LAYOUTS, Tensor)):
        return _refuse(name, value, "a tuple")
    return untied(name, value)


def mapping(name: str, value: object) -> Any:
    """What has strides: a layout, or a tensor's."""
    found = layout_of(value)
    return found if isinstance(found, _LAYOUTS) else _refuse(name, value, "a layout or a tensor")


def strided(name: str, value: object) -> Any:
    """What has strides of its own: a layout, or a tensor's, that is not composed."""
    found = layout_of(value)
    return found if isinstance(found, Layout) else _refuse(name, value, "a layout, or a tensor that is not swizzled")


Subject = Callable[[str, object], Any]
"""A kind of arguments: takes the name of the function and the argument."""

_INSTEAD = {
    list: "`tuple(...)` of it",
    Layout: "`cute.size(layout)`, or `layout.shape`",
    ComposedLayout: "`cute.size(layout)`, or `layout.shape`",
    Tensor: "`cute.size(tensor)`, or `tensor.shape`",
}


def _refuse(name: str, value: object, expected: str) -> Any:
    raise OperandTypeError(
        f"`{name}` has no answer for {describe(value)}",
        span=place(),
        found=describe(value),
        expected=expected,
        instead=_INSTEAD.get(type(value), ""),
    )
