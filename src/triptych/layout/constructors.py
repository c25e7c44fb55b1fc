"""Constructors of layouts: from shapes, from the notation, and with numbers in the place of symbolic integers.

Input: shapes, orders, other layouts, or text. Output: layouts, compact unless a stride is given; text may also be a
composed layout, a swizzle, a tile or a nested tuple.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triptych.layout.basis import ScaledBasis
from triptych.layout.composed import AnyLayout, ComposedLayout, read_composed
from triptych.layout.errors import ProfileError
from triptych.layout.integers import Int, is_one
from triptych.layout.layout import Layout, trusted
from triptych.layout.notation import Reader, read_tuple
from triptych.layout.symbolic import SymInt
from triptych.layout.tuples import IntTuple, Nested, Shape, Stride, compact_stride, flat, leaves


def make_layout(shape: Shape, *, stride: Stride | None = None) -> Layout:
    """The layout shape:stride; without a stride it is compact, first mode fastest."""
    return trusted(shape, compact_stride(shape)) if stride is None else Layout(shape, stride)


def make_identity_layout(shape: Shape) -> Layout:
    """The layout that sends every coordinate to itself."""
    return trusted(shape, _basis(shape, ()))


def _basis(shape: Shape, path: tuple[int, ...]) -> Stride:
    if isinstance(shape, tuple):
        return tuple(_basis(item, (*path, step)) for step, item in enumerate(shape))
    return ScaledBasis(1, path) if path else 1


def make_ordered_layout(shape: Shape, order: IntTuple) -> Layout:
    """The compact layout whose modes get faster the smaller their order; ties go left to right."""
    ranks = list(_orders(shape, order))
    strides: dict[int, Int] = {}
    extents = flat(shape)
    next_stride: Int = 1
    for place in sorted(range(len(ranks)), key=ranks.__getitem__):
        strides[place] = 0 if is_one(extents[place]) else next_stride
        next_stride = next_stride * extents[place]
    return trusted(shape, refill(shape, [strides[place] for place in range(len(ranks))]))


def _orders(shape: Shape, order: IntTuple) -> list[int]:
    """One order per leaf of the shape; an order for a whole mode holds for each of its leaves."""
    if isinstance(order, tuple):
        if not isinstance(shape, tuple) or len(shape) != len(order):
            raise ProfileError("the order does not fit the shape", found=f"shape {shape}, order {order}")
        return [rank for item, part in zip(shape, order, strict=True) for rank in _orders(item, part)]
    if not isinstance(order, int):
        raise ProfileError("the order of modes must be known now", found=f"order {order}")
    return [order for _ in leaves(shape)]


_NO_STEP = ((), 0, 0)


def _size_of(step: object) -> tuple[tuple[int, ...], int, int]:
    """What strides are sorted by: the dimension that they lead along, whether they are dynamic, their size."""
    mode, length = (step.mode, step.value) if isinstance(step, ScaledBasis) else ((), step)
    return (mode, 0, length) if isinstance(length, int) else (mode, 1, 0)


def make_layout_like(layout: AnyLayout) -> Layout:
    """The compact layout with the same shape and the same order of strides; strides of 0 stay 0.

    A dynamic stride counts as larger than every static one, and dynamic strides keep their order from left to
    right: that is a choice of the result, not a claim about the input. Basis strides have the order in which a tensor
    of coordinates is walked through: the first dimension of the coordinates is the fastest.
    """
    source = layout.outer if isinstance(layout, ComposedLayout) else layout
    extents, steps = flat(source.shape), flat(source.stride)
    keys = [_size_of(step) for step in steps]
    strides: dict[int, Int] = {}
    next_stride: Int = 1
    for place in sorted(range(len(keys)), key=keys.__getitem__):
        if keys[place] == _NO_STEP or is_one(extents[place]):
            strides[place] = 0
        else:
            strides[place] = next_stride
            next_stride = next_stride * extents[place]
    return trusted(source.shape, refill(source.shape, [strides[place] for place in range(len(keys))]))


def refill(profile: Nested, values: list[Int]) -> IntTuple:
    """A flat list of leaves, nested like a profile."""
    remaining = iter(values)

    def build(part: Nested) -> IntTuple:
        return tuple(build(item) for item in part) if isinstance(part, tuple) else next(remaining)

    return build(profile)


def parse(text: str) -> Any:
    """The value written in a text; `[4:1;_]` is a tile, a text without `:` or `o` a nested tuple."""
    if "[" not in text and ":" not in text and "o" not in text and "S" not in text:
        return read_tuple(text)
    reader = Reader(text)
    value = _tile(reader)
    reader.finish()
    return value


def _tile(reader: Reader) -> Any:
    if reader.skip("_"):
        return None
    if not reader.skip("["):
        return read_composed(reader)
    items = [_tile(reader)]
    while reader.skip(";"):
        items.append(_tile(reader))
    reader.take("]")
    return tuple(items)


def tile_text(tile: object) -> str:
    """A tile in the notation."""
    if isinstance(tile, tuple):
        return "[" + ";".join(map(tile_text, tile)) + "]"
    return "_" if tile is None else str(tile)


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
