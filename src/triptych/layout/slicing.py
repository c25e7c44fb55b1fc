"""Fixing some modes of a layout and keeping others.

Input: a tuple or layout, and a coordinate in which None keeps a mode whole. Output: what is kept, and for
layouts the offset of what was fixed.
"""

from __future__ import annotations

from typing import Any, overload

from triptych.layout.arithmetic import tuple_add
from triptych.layout.composed import ComposedLayout
from triptych.layout.coordinates import evaluate
from triptych.layout.errors import ProfileError
from triptych.layout.layout import Layout, trusted
from triptych.layout.tuples import Coord, IntTuple


def slice_(src: object, coord: Coord) -> Any:
    """The modes where the coordinate is None; a composed layout takes the fixed modes into its offset."""
    if isinstance(src, Layout | ComposedLayout):
        return slice_and_offset(coord, src)[0]
    return _kept(src, coord)


def dice(src: object, dicer: Coord) -> Any:
    """The modes where the coordinate is an integer."""
    if isinstance(src, Layout):
        return trusted(dice(src.shape, dicer), dice(src.stride, dicer))
    if isinstance(src, ComposedLayout):
        return src.with_outer(dice(src.outer, dicer))
    if isinstance(dicer, tuple):
        return tuple(item for part, inner in _paired(src, dicer) for item in _lifted_dice(part, inner))
    return () if dicer is None else src


@overload
def slice_and_offset(coord: Coord, src: Layout) -> tuple[Layout, IntTuple]: ...
@overload
def slice_and_offset(coord: Coord, src: ComposedLayout) -> tuple[ComposedLayout, IntTuple]: ...
def slice_and_offset(coord: Coord, src: Layout | ComposedLayout) -> tuple[Layout | ComposedLayout, IntTuple]:
    """The kept modes and the offset of the fixed ones; in a composed layout the offset moves inside."""
    if isinstance(src, ComposedLayout):
        outer, offset = slice_and_offset(coord, src.outer)
        return ComposedLayout(src.inner, tuple_add(src.offset, offset), outer), 0
    return trusted(_kept(src.shape, coord), _kept(src.stride, coord)), evaluate(coord, src.shape, src.stride)


@overload
def domain_offset(coord: Coord, src: Layout) -> tuple[Layout, IntTuple]: ...
@overload
def domain_offset(coord: Coord, src: ComposedLayout) -> tuple[ComposedLayout, IntTuple]: ...
def domain_offset(coord: Coord, src: Layout | ComposedLayout) -> tuple[Layout | ComposedLayout, IntTuple]:
    """The layout and the offset after which its coordinate 0 is the given one."""
    if isinstance(src, ComposedLayout):
        moved = evaluate(coord, src.outer.shape, src.outer.stride)
        return ComposedLayout(src.inner, tuple_add(src.offset, moved), src.outer), 0
    return src, evaluate(coord, src.shape, src.stride)


def _kept(src: object, coord: Coord) -> Any:
    if isinstance(coord, tuple):
        return tuple(item for part, inner in _paired(src, coord) for item in _lifted_slice(part, inner))
    return src if coord is None else ()


def _lifted_slice(src: object, coord: Coord) -> tuple[Any, ...]:
    if isinstance(coord, tuple):
        return tuple(item for part, inner in _paired(src, coord) for item in _lifted_slice(part, inner))
    return (src,) if coord is None else ()


def _lifted_dice(src: object, coord: Coord) -> tuple[Any, ...]:
    if isinstance(coord, tuple):
        return tuple(item for part, inner in _paired(src, coord) for item in _lifted_dice(part, inner))
    return () if coord is None else (src,)


def _paired(src: object, coord: tuple[Coord, ...]) -> list[tuple[Any, Coord]]:
    if not isinstance(src, tuple) or len(src) != len(coord):
        raise ProfileError("the coordinate does not fit what it slices", found=f"{coord} of {src}")
    return list(zip(src, coord, strict=True))
