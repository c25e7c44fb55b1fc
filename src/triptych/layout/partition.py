"""Slices and partitions of a layout: some modes fixed and others kept, parts given to tiles, threads and blocks.

Input: a tuple or layout, and a coordinate in which None keeps a mode whole, or a tiler and a thread index.
Output: what is kept, and for layouts the offset where it begins.
"""

from __future__ import annotations

from typing import Any, overload

from triptych.layout.compose import composition
from triptych.layout.composed import AnyLayout, ComposedLayout, L
from triptych.layout.constructors import make_layout
from triptych.layout.coordinates import evaluate
from triptych.layout.errors import ProfileError
from triptych.layout.integers import Int
from triptych.layout.inverses import right_inverse
from triptych.layout.layout import Layout, trusted
from triptych.layout.modes import append, rank, size
from triptych.layout.tiling import raked_product, zipped_divide
from triptych.layout.tuples import Coord, IntTuple, Tile, product_each, tuple_add


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


def local_tile(target: L, tiler: Tile, coord: Coord, proj: Coord = None) -> tuple[L, IntTuple]:
    """The tile at a coordinate of the grid of tiles (None keeps a direction whole), and its offset."""
    tiled, where = tile_at(target, tiler, coord, proj)
    return slice_and_offset(where, tiled)


def tile_at(target: L, tiler: Tile, coord: Coord, proj: Coord = None) -> tuple[L, Coord]:
    """A layout as (tile, grid of tiles), and the coordinate of one of its tiles.

    `proj` says which modes of the tiler and of the coordinate the target has; further ones of the coordinate stay.
    """
    if proj is not None:
        further = rank(coord) - rank(proj)
        wanted = append(proj, 1, rank(coord)) if further > 0 else proj
        tiler, coord = dice(tiler, proj), dice(coord, wanted)
    tiled = zipped_divide(target, tiler)
    return tiled, (_all_of(tiled, 0), _padded(coord, rank(tiled, [1])))


def local_partition(target: L, tiler: Layout, index: Int, proj: Coord = None) -> tuple[L, IntTuple]:
    """What a thread gets of a layout when threads lie on it as `tiler` says, and where its part begins."""
    tile, coord = product_each(tiler.shape), tiler.get_flat_coord(index)
    if proj is not None and isinstance(proj, tuple):
        tile, coord = dice(tile, proj), dice(coord, proj)
    tiled = zipped_divide(target, tile)
    return slice_and_offset((_padded(coord, rank(tiled, [0])), _all_of(tiled, 1)), tiled)


def make_layout_tv(thr_layout: Layout, val_layout: Layout) -> tuple[tuple[Int, ...], Layout]:
    """The tile that threads with their values cover, and the layout (thread, value) -> integer coordinate in it."""
    arrangement = raked_product(thr_layout, val_layout)
    tv = composition(right_inverse(arrangement), make_layout((size(thr_layout), size(val_layout))))
    return product_each(arrangement.shape), tv


def make_layout_image_mask(lay: Layout, coord: Coord, mode: int) -> Int:
    """A bit for every index a layout takes along one mode, the others fixed by the coordinate, also a run-time one."""
    if not isinstance(coord, tuple) or not 0 <= mode < len(coord):
        raise ProfileError("the mask needs a coordinate that has the mode", found=f"{coord}, mode {mode}")
    along, offset = slice_and_offset((*coord[:mode], None, *coord[mode + 1 :]), lay)
    count = size(along)
    if not isinstance(count, int) or isinstance(offset, tuple) or not along.is_static:
        raise ProfileError("the mask needs a static layout", found=f"{lay} at {coord}")
    mask = 0
    for i in range(count):
        mask |= 1 << int(along(i))
    return mask << offset


def _all_of(layout: AnyLayout, mode: int) -> Coord:
    return (None,) * rank(layout, [mode])


def _padded(coord: Coord, wanted: int) -> Coord:
    return append(coord, None, wanted) if isinstance(coord, tuple) else coord
