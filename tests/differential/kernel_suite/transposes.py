"""Matrices transposed through shared memory whose rows lie plainly, are padded, or are swizzled."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import MEMORY, SEEDS, WRITABLE, laid_out, output, shapes
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from triptych import cute

TILES: dict[str, tuple[int, Any]] = {
    "plain": (16, cute.Layout((16, 16), (16, 1))),
    "padded": (32, cute.Layout((32, 32), (33, 1))),
    "swizzled": (16, cute.ComposedLayout(cute.Swizzle(4, 0, 4), 0, cute.Layout((16, 16), (16, 1)))),
    "swizzled, wide": (32, cute.ComposedLayout(cute.Swizzle(3, 2, 3), 0, cute.Layout((32, 32), (32, 1)))),
    "columns first": (8, cute.Layout((8, 8), (1, 8))),
}


@tt.kernel
def transpose_kernel(
    x: cute.Tensor, out: cute.Tensor, tile: tt.Constexpr[Any], rows_at_once: tt.Constexpr[int]
) -> None:
    """Every thread moves several elements of a tile, `rows_at_once` rows apart."""
    side, layout = tile
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    rows, columns = x.shape
    moved = cute.SmemAllocator().allocate_tensor(x.element_type, layout, 16)
    for j in range(ty, side, rows_at_once):
        row, column = by * side + j, bx * side + tx
        if row < rows and column < columns:
            moved[j, tx] = x[row, column]
    cute.arch.sync_threads()
    for j in range(ty, side, rows_at_once):
        row, column = bx * side + j, by * side + tx
        if row < columns and column < rows:
            out[row, column] = moved[tx, j]


@tt.jit
def transpose(x: cute.Tensor, out: cute.Tensor, tile: tt.Constexpr[Any], rows_at_once: tt.Constexpr[int]) -> None:
    side = tile[0]
    rows, columns = x.shape
    grid = (cute.ceil_div(columns, side), cute.ceil_div(rows, side), 1)
    transpose_kernel(x, out, tile, rows_at_once).launch(grid=grid, block=(side, rows_at_once, 1))


@case(
    7,
    shape=shapes(2, 100),
    tile=st.sampled_from(sorted(TILES)),
    rows_at_once=st.sampled_from([1, 3, 8]),
    dtype=st.sampled_from(["float32", "int8", "float64"]),
    memory=st.tuples(MEMORY, WRITABLE),
    seed=SEEDS,
)
def transposed(shape: Any, tile: str, rows_at_once: int, dtype: str, memory: tuple[str, str], seed: int) -> None:
    x = laid_out(whole(seed, shape, dtype, 100), memory[0])
    with output(shape[::-1], dtype, memory[1]) as out:
        transpose(x, out, TILES[tile], rows_at_once)
        same(out, x.T)
