"""Thread-value layouts of a tile: which elements each thread holds, grouped as one instruction moves them.

Input: a layout (thread, value) -> number of a coordinate in a tile, and a layout made of such tiles. Output: the
layout with a mode for the threads, one for the values ((of an instruction), instructions), and one for the tiles.
"""

from __future__ import annotations

from typing import Any

from triptych.layout.coalescing import coalesce, filter
from triptych.layout.compose import composition
from triptych.layout.composed import L
from triptych.layout.constructors import make_layout
from triptych.layout.coordinates import all_indices
from triptych.layout.errors import UndecidableError
from triptych.layout.integers import Int
from triptych.layout.inverses import left_inverse, right_inverse
from triptych.layout.layout import Layout, from_modes
from triptych.layout.modes import prepend, rank, size
from triptych.layout.partition import slice_and_offset
from triptych.layout.recast import recast_layout
from triptych.layout.tiling import logical_divide, logical_product, zipped_divide
from triptych.layout.tuples import Coord, IntTuple, Tile, product_each


def instruction_values(tv: Layout, reference: Layout, side: Layout) -> Layout:
    """(thread, (value of an instruction, instruction)) -> number, on one side of instructions that move elements.

    `reference` and `side` are layouts (thread, value) -> number of an element of one instruction. `tv` deals a tile out
    as the reference does; on the other side the threads hold other elements of the same instruction.
    """
    instructions = zipped_divide(tv, (size(reference, [0]), size(reference, [1])))
    seen = composition(instructions, (composition(right_inverse(reference), side), None))
    threads, values = (from_modes((seen[0][mode], seen[1][mode])) for mode in (0, 1))
    return coalesce(from_modes((threads, values)), (1, (1, 1)))


def coordinates_of(tv: Layout, data: Layout) -> Layout | None:
    """(thread, value) -> number of the coordinate where `data` has the index that `tv` gives; None if it has none."""
    count, held = size(data), size(tv)
    if not tv.is_static or not data.is_static or not isinstance(held, int):
        return None
    numbers = composition(from_modes((left_inverse(data), Layout(1, 0))), tv)
    found = set(zip(all_indices(numbers.shape, numbers.stride), all_indices(tv.shape, tv.stride), strict=True))
    indices = all_indices(data.shape, data.stride)
    return numbers if all(number < count and indices[number] == index for number, index in found) else None


def occupied_tile(tv: Layout, shape: IntTuple) -> tuple[tuple[Layout, ...], Layout]:
    """What (thread, value) reach of a tile of a shape: a tiler that takes just that, and the layout into its tile."""
    numbers, extents = make_layout(shape), product_each(shape)
    tiler = tuple(
        filter(composition(Layout(extents, tuple(int(place == mode) for place in range(rank(numbers)))), tv))
        for mode in range(rank(numbers))
    )
    return tiler, composition(left_inverse(composition(make_layout(extents), tiler)), tv)


def thread_part(target: L, tv: Layout, tile: Tile, thread: Int) -> tuple[L, IntTuple]:
    """What a thread holds of a target, ((values), tiles…), and the offset where it begins."""
    tiled = zipped_divide(target, tile)
    distributed = composition(tiled, (tv, None))
    return slice_and_offset(((thread, None), (None,) * rank(tiled, [1])), distributed)


def retiled(held: L, tv: Layout, tile: Tile, together: int) -> L:
    """What a thread holds, (values, tiles…) of some partition, seen in the order and grouping of this one.

    The first mode of `held` must be the first values that `tv` gives a thread; how the further values continue in the
    tile is then known from `tv`, so they are looked for in the further modes.
    """
    count = size(held, [0])
    inside = make_layout(tile_shape(tile))
    ends = recast_layout(_known(size(tv, [0]) * count), 1, composition(right_inverse(tv), inside))
    order = zipped_divide(logical_product(make_layout(count), right_inverse(ends)), together)
    tiled = zipped_divide(held, prepend(product_each(ends.shape), count))
    view = composition(tiled, (order, None))
    first: Coord = (0,) + (None,) * (rank(tiled, [1]) - 1)
    return slice_and_offset((None, first), view)[0]


def distribute_to_atoms(target: L, order: Tile, atom: IntTuple, tv: Layout, atoms: IntTuple) -> L:
    """A matrix in tiles of an atom, ((thread, value), ((atom, rest), (atom, rest), further modes…)).

    `order` says for each of the first two modes how many elements, or which in which order, all atoms together take.
    """
    tiled = zipped_divide(logical_divide(target, order), atom)
    return logical_divide(composition(tiled, (tv, None)), (None, atoms))


def part_of_atom(distributed: L, thread: Int, row: Int, column: Int) -> tuple[L, IntTuple]:
    """What one thread of the atom at (row, column) holds, (values, rest, rest, further modes…), and where it begins."""
    further: Coord = ((row, None), (column, None), *(None,) * (rank(distributed, [1]) - 2))
    return slice_and_offset(((thread, None), further), distributed)


def tiled_thread_values(distributed: Layout, threads: Layout, row: int, column: int) -> Layout:
    """(thread, (value, (rest, rest))) -> number, for one tile that atoms on `threads` (thread, m, n, k) cover.

    `row` and `column` are the modes of `threads` along which the two modes of the tile go; along the others
    every atom has the same elements.
    """
    atoms = {0: distributed[0][0], row: distributed[1][0][0], column: distributed[1][1][0]}
    spread = from_modes(atoms.get(mode, Layout(size(part), 0)) for mode, part in enumerate(threads))
    return from_modes(
        (
            composition(spread, right_inverse(threads)),
            from_modes((distributed[0][1], from_modes((distributed[1][0][1], distributed[1][1][1])))),
        )
    )


def tile_shape(tile: object) -> Any:
    """The shape of what a tiler takes: of layouts, how far each reaches in its mode."""
    if isinstance(tile, tuple):
        return tuple(map(tile_shape, tile))
    return tile.shape if isinstance(tile, Layout) else tile


def _known(count: Int) -> int:
    if not isinstance(count, int):
        raise UndecidableError("only what is known now can be retiled", found=f"{count} values")
    return count
