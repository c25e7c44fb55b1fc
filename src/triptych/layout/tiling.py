"""Division of a layout into tiles, and products that repeat a layout as another one says.

A division takes a layout and a tiler (an integer, a layout, or a tuple of tilers, one per mode; None keeps a mode
whole) and gives the same elements as (tile, rest). A product takes a block and a tiler layout and gives both as modes
of one layout, every copy of the block apart. The functions of either differ only in how the modes are grouped.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest

from triptych.layout.compose import compose
from triptych.layout.composed import ComposedLayout, L, on_outer
from triptych.layout.constructors import make_ordered_layout
from triptych.layout.errors import ProfileError
from triptych.layout.integers import divide_up
from triptych.layout.inverses import complement, complement_in
from triptych.layout.layout import Layout, beside, concatenated, from_modes, modes, trusted
from triptych.layout.tuples import IntTuple, Tile, product_each, rank_of, tuple_ceil_div


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


def logical_product(block: L, tiler: Tile) -> L:
    """(block, copies); with a tuple of tilers, mode by mode."""
    return on_outer(block, lambda outer: _product(outer, tiler))


def zipped_product(block: L, tiler: Tile) -> L:
    """((block modes), (tiler modes))."""
    return on_outer(block, lambda outer: from_modes(_zipped_product(outer, tiler)))


def tiled_product(block: L, tiler: Tile) -> L:
    """((block modes), tiler mode, tiler mode, …)."""
    return on_outer(block, lambda outer: beside(*_zipped_product(outer, tiler)))


def flat_product(block: L, tiler: Tile) -> L:
    """(block mode, …, tiler mode, …)."""
    return on_outer(block, lambda outer: concatenated(*_zipped_product(outer, tiler)))


def blocked_product(block: L, tiler: Layout) -> L:
    """((block, tiler), (block, tiler), …): copies lie side by side."""
    return on_outer(block, lambda outer: _interleave(outer, tiler, lambda b, t: (b, t)))


def raked_product(block: L, tiler: Layout) -> L:
    """((tiler, block), (tiler, block), …): copies are dealt out element by element."""
    return on_outer(block, lambda outer: _interleave(outer, tiler, lambda b, t: (t, b)))


def tile_to_shape(block: L, target_shape: IntTuple, order: IntTuple | None = None) -> L:
    """Repeat a block until it covers a shape, along the modes in the given order."""
    return on_outer(block, lambda outer: _cover(outer, target_shape, order))


def _cover(block: Layout, target_shape: IntTuple, order: IntTuple | None) -> Layout:
    missing = rank_of(target_shape) - len(block)
    if missing < 0:
        raise ProfileError("the block has more modes than the shape", found=f"{block} in {target_shape}")
    padded = from_modes((*modes(block), *[trusted(1, 0)] * missing)) if missing else block
    repeats = tuple_ceil_div(product_each(target_shape), product_each(padded.shape))
    tiler = make_ordered_layout(repeats, tuple(range(rank_of(repeats))) if order is None else order)
    return _interleave(padded, tiler, lambda b, t: (b, t))


def _product(block: Layout, tiler: Tile) -> Layout:
    if tiler is None:
        return block
    if isinstance(tiler, tuple):
        parts = modes(block)
        if len(tiler) > len(parts):
            raise ProfileError("the tiler has more modes than the block", found=f"tiler {tiler}, block {block}")
        return from_modes([*map(_product, parts, tiler), *parts[len(tiler) :]])
    copies = tiler if isinstance(tiler, Layout) else trusted(tiler, 1)
    # The last mode of a complement runs on without end, so no size has to be named.
    return from_modes((block, compose(complement_in(block, None), copies)))


def _zipped_product(block: Layout, tiler: Tile) -> tuple[Layout, Layout]:
    parts = _zipped_modes(block, tiler) if isinstance(tiler, tuple) else modes(_product(block, tiler))
    first, second, *rest = parts
    return first, from_modes((*modes(second), *rest)) if rest else second


def _zipped_modes(block: Layout, tiler: tuple[Tile, ...]) -> tuple[Layout, ...]:
    parts = modes(_product(block, tiler))
    pairs = [modes(part) for part in parts[: len(tiler)]]
    return from_modes(pair[0] for pair in pairs), from_modes(pair[1] for pair in pairs), *parts[len(tiler) :]


def _interleave(block: Layout, tiler: Layout, pair: Callable[[Layout, Layout], tuple[Layout, Layout]]) -> Layout:
    """Modes of block and tiler side by side; a mode only one of them has stands alone."""
    first, second = modes(_product(block, tiler))
    joined = []
    for b, t in zip_longest(modes(first), modes(second)):
        joined.append(b if t is None else t if b is None else from_modes(pair(b, t)))
    return from_modes(joined)
