"""Dividing a layout into tiles and the rest.

Input: a layout and a tiler (an integer, a layout, or a tuple of tilers, one per mode; None keeps a mode whole).
Output: the same elements as (tile, rest); the four functions differ only in how the modes are grouped.
"""

from __future__ import annotations

from triptych.layout.arithmetic import tuple_ceil_div
from triptych.layout.compose import compose
from triptych.layout.composed import ComposedLayout, L, on_outer
from triptych.layout.errors import ProfileError
from triptych.layout.gaps import complement, complement_in
from triptych.layout.integers import divide_up
from triptych.layout.layout import Layout, beside, concatenated, from_modes, modes, trusted
from triptych.layout.tuples import IntTuple, Tile


def logical_divide(target: L, tiler: Tile) -> L:
    """((tile, rest), (tile, rest), …): each mode split in place."""
    return on_outer(target, lambda outer: _divide(outer, tiler))


def zipped_divide(target: L, tiler: Tile) -> L:
    """((tile, tile, …), (rest, rest, …))."""
    return on_outer(target, lambda outer: from_modes(_zipped(outer, tiler)))


def tiled_divide(target: L, tiler: Tile) -> L:
    """((tile, tile, …), rest, rest, …)."""
    return on_outer(target, lambda outer: beside(*_zipped(outer, tiler)))


def flat_divide(target: L, tiler: Tile) -> L:
    """(tile, tile, …, rest, rest, …)."""
    return on_outer(target, lambda outer: concatenated(*_zipped(outer, tiler)))


def ceil_div(target: IntTuple, tiler: Tile) -> IntTuple:
    """How many tiles cover a shape: the extents of the rest that a division by the tiler leaves."""
    if isinstance(tiler, Layout):
        return complement(tiler, target).shape
    if tiler is None:
        return 1
    if isinstance(target, tuple) and isinstance(tiler, tuple) and len(tiler) <= len(target):
        return tuple(map(ceil_div, target, tiler)) + target[len(tiler) :]
    return tuple_ceil_div(target, tiler)


def _divide(layout: Layout, tiler: Tile) -> Layout:
    if isinstance(tiler, tuple):
        parts = modes(layout)
        if len(tiler) > len(parts):
            raise ProfileError("the tiler has more modes than the layout", found=f"tiler {tiler}, layout {layout}")
        return from_modes([*map(_divide, parts, tiler), *parts[len(tiler) :]])
    if tiler is None:
        return layout
    if isinstance(tiler, ComposedLayout):
        raise ProfileError("a composed layout is not a tiler", found=str(tiler), instead="its outer layout")
    if not isinstance(tiler, Layout) and not isinstance(layout.shape, tuple):
        # A leaf cut by a number, the usual tile, comes out the same without the algebra.
        return trusted((tiler, divide_up(layout.shape, tiler)), (layout.stride, tiler * layout.stride))
    tile = tiler if isinstance(tiler, Layout) else trusted(tiler, 1)
    # One rest per dynamic extent keeps the rest of a mode apart from that of its neighbour.
    rest = complement_in(tile, layout.shape, join_dynamic=False)
    return compose(layout, trusted((tile.shape, rest.shape), (tile.stride, rest.stride)))


def _zipped(layout: Layout, tiler: Tile) -> tuple[Layout, Layout]:
    return _unzip(_divide(layout, tiler), tiler)


def _unzip(divided: Layout, tiler: Tile) -> tuple[Layout, Layout]:
    """All tiles first, all rests after them; the tiler tells how deep the pairs lie."""
    parts = modes(divided)
    if not isinstance(tiler, tuple):
        if len(parts) != 2:
            raise ProfileError("only a mode of two parts can be kept whole here", found=str(divided))
        return parts[0], parts[1]
    pairs = [_unzip(part, inner) for part, inner in zip(parts, tiler, strict=False)]
    tiles = from_modes(tile for tile, _ in pairs)
    return tiles, from_modes([*(rest for _, rest in pairs), *parts[len(tiler) :]])
