"""b = a.T, through shared memory: plain, padded, swizzled.

Rows of `a` are columns of `b`, so one of the two would be accessed with large steps. A block takes a detour: it reads a
tile of 32 x 32 by rows, waits, and writes the tile's columns as rows of `b`. The steps are now in shared memory, which
has 32 banks: a column of a plain tile lies in one bank, and 32 threads wait for each other.

Two layouts of the tile avoid that, and nothing in the kernel changes. *Padded* rows are one element longer. A *swizzle*
permutes each row by its number, without any unused element. `bank_conflicts` counts what a GPU would wait, without
one. A CPU has no banks, so here the other two gain nothing: `--benchmark` shows what they cost.
"""

from __future__ import annotations

import numpy as np
from measure import agree, main, versus_numpy

import triptych as tt
from triptych import cute
from triptych.layout import bank_conflicts

TILE = 32
ROWS = 8
"""Rows of threads in a block: each thread moves TILE / ROWS elements of its column."""

PLAIN = cute.make_layout((TILE, TILE), stride=(TILE, 1))
PADDED = cute.make_layout((TILE, TILE), stride=(TILE + 1, 1))
SWIZZLED = cute.make_composed_layout(cute.make_swizzle(5, 0, 5), 0, PLAIN)
LAYOUTS = {"plain": PLAIN, "padded": PADDED, "swizzled": SWIZZLED}


@tt.kernel
def transpose_tile(a: cute.Tensor, b: cute.Tensor, layout: tt.Constexpr) -> None:
    x, y, _ = cute.arch.thread_idx()
    block_x, block_y, _ = cute.arch.block_idx()
    tile = cute.SmemAllocator().allocate_tensor(a.element_type, layout)
    for k in tt.range_constexpr(0, TILE, ROWS):
        where = block_y * TILE + y + k, block_x * TILE + x
        if cute.elem_less(where, a.shape):
            tile[y + k, x] = a[where]
    cute.arch.sync_threads()
    for k in tt.range_constexpr(0, TILE, ROWS):
        where = block_x * TILE + y + k, block_y * TILE + x
        if cute.elem_less(where, b.shape):
            b[where] = tile[x, y + k]


@tt.jit
def transpose(a: cute.Tensor, b: cute.Tensor, layout: tt.Constexpr) -> None:
    rows, columns = cute.ceil_div(a.shape, (TILE, TILE))
    transpose_tile(a, b, layout).launch(grid=(columns, rows), block=(TILE, ROWS))


def check() -> None:
    random = np.random.default_rng(0)
    for shape in ((1, 1), (32, 32), (33, 31), (100, 257)):
        for dtype in (np.float32, np.int16):
            a = (1000 * random.random(shape)).astype(dtype)
            for layout in LAYOUTS.values():
                b = np.empty(shape[::-1], dtype)
                transpose(a, b, layout)
                agree(b, a.T)
    column = cute.make_layout(TILE)  # 32 threads and the 32 rows of column 0
    for name, layout in LAYOUTS.items():
        print(f"transpose, {name:8}: equal to NumPy; on a GPU reading a column is {bank_conflicts(layout, column)}")


def benchmark() -> None:
    a = np.random.default_rng(0).random((4096, 4096), np.float32)
    b = np.empty_like(a)
    for name, layout in LAYOUTS.items():
        versus_numpy(
            f"transpose 4096 x 4096, {name}",
            lambda layout=layout: transpose(a, b, layout),
            lambda: np.copyto(b, a.T),
            moved=2 * a.nbytes,
        )


if __name__ == "__main__":
    main(check, benchmark)
