"""b = a.T, through shared memory: plain, padded, swizzled.

Rows of `a` are columns of `b`, so one of the two would be accessed with large steps. A block takes a detour: it reads a
tile of 32 x 32 by rows, waits, and writes the tile's columns as rows of `b`. The steps are now in shared memory, which
has 32 banks: a column of a plain tile lies in one bank, and 32 threads wait for each other.

Two layouts of the tile avoid that, and nothing in the kernel changes. *Padded* rows are one element longer. A *swizzle*
permutes each row by its number, without any unused element. `bank_conflicts` counts what a GPU would wait, without
one. A CPU has no banks, so here the other two gain nothing: `triptych bench` shows what they cost.
"""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute, workbench
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


SHAPES = ((1, 1), (33, 31), (100, 257))
CASES = {
    f"{name}, {np.dtype(dtype).name}, {rows} x {columns}": {
        "rows": rows,
        "columns": columns,
        "dtype": dtype,
        "name": name,
    }
    for name in LAYOUTS
    for dtype in (np.float32, np.int16)
    for rows, columns in SHAPES
}
CASES |= {name: {"rows": 1024, "columns": 1024, "name": name, "bench": True} for name in LAYOUTS}


def kernel_fn(a: np.ndarray, name: str) -> np.ndarray:
    b = np.empty(a.shape[::-1], a.dtype)
    transpose(a, b, LAYOUTS[name])
    return b


def reference_fn(a: np.ndarray, name: str) -> np.ndarray:
    return a.T.copy()


baseline_fn = reference_fn


def get_inputs(
    rows: int = 64, columns: int = 64, dtype: type = np.float32, name: str = next(iter(LAYOUTS)), seed: int = 0
) -> list[object]:
    return [(1 + 1000 * np.random.default_rng(seed).random((rows, columns))).astype(dtype), name]


def algorithmic_flops_bytes(a: np.ndarray, name: str) -> tuple[int, int]:
    return 0, 2 * a.nbytes


if __name__ == "__main__":
    column = cute.make_layout(TILE)  # 32 threads and the 32 rows of column 0
    for name, layout in LAYOUTS.items():
        print(f"transpose, {name:8}: on a GPU reading a column is {bank_conflicts(layout, column)}")


workbench.main(__name__)
