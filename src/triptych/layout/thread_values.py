"""Dealing a tile out to threads: which elements each holds, grouped as one instruction moves them.

Input: a layout (thread, value) -> number of a coordinate in a tile, and a layout made of such tiles. Output: the
layout with a mode for the threads, one for the values ((of an instruction), instructions), and one for the tiles.
"""

from __future__ import annotations

from typing import Any

from triptych.layout.compose import composition
from triptych.layout.composed import AnyLayout
from triptych.layout.constructors import make_layout
from triptych.layout.divides import zipped_divide
from triptych.layout.errors import UndecidableError
from triptych.layout.integers import Int
from triptych.layout.inverses import right_inverse
from triptych.layout.layout import Layout, from_modes
from triptych.layout.modes import prepend, rank, size
from triptych.layout.products import logical_product
from triptych.layout.recast import recast_layout
from triptych.layout.slicing import slice_and_offset
from triptych.layout.tuples import IntTuple, product_each


def grouped_values(tv: Layout, together: int) -> Layout:
    """(thread, (value of an instruction, instruction)) -> number, when one instruction moves values `together`."""
    threads, values = tv[0], tv[1]
    return from_modes((threads, zipped_divide(values, together)))


def thread_part(target: Any, tv: Layout, tile: IntTuple, thread: Int) -> tuple[AnyLayout, IntTuple]:
    """What a thread holds of a target, ((values), tiles…), and the offset where it begins."""
    tiled = zipped_divide(target, tile)
    dealt = composition(tiled, (tv, None))
    return slice_and_offset(((thread, None), (None,) * rank(tiled, [1])), dealt)


def retiled(held: Any, tv: Layout, tile: IntTuple, together: int) -> AnyLayout:
    """What a thread holds, (values, tiles…) of some partition, seen in the order and grouping of this one.

    The first mode of `held` must be the first values that `tv` gives a thread; how the further values continue in the
    tile is then known from `tv`, so they are looked for in the further modes.
    """
    count = size(held, [0])
    ends = recast_layout(_known(size(tv, [0]) * count), 1, composition(right_inverse(tv), make_layout(tile)))
    order = zipped_divide(logical_product(make_layout(count), right_inverse(ends)), together)
    tiled = zipped_divide(held, prepend(product_each(ends.shape), count))
    view = composition(tiled, (order, None))
    kept: AnyLayout = slice_and_offset((None, (0, *(None,) * (rank(tiled, [1]) - 1))), view)[0]
    return kept


def _known(count: Int) -> int:
    if not isinstance(count, int):
        raise UndecidableError("only what is known now can be retiled", found=f"{count} values")
    return count
