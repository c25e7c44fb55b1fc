"""Grids and blocks of two and three dimensions over arrays of other sizes: rows, columns and planes have tails."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import MEMORY, SEEDS, WRITABLE, blocks, laid_out, output, shapes
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from triptych import cute

MEMORIES = st.tuples(MEMORY, WRITABLE)


@tt.kernel
def rows_and_columns_kernel(x: cute.Tensor, z: cute.Tensor) -> None:
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    dx, dy, _ = cute.arch.block_dim()
    row, column = by * dy + ty, bx * dx + tx
    rows, columns = z.shape
    if row < rows and column < columns:
        z[row, column] = x[row, column] * 3 + row - 2 * column


@tt.jit
def run_time_block(x: cute.Tensor, z: cute.Tensor, bx: tt.Int32, by: tt.Int32) -> None:
    rows, columns = z.shape
    grid = (cute.ceil_div(columns, bx), cute.ceil_div(rows, by), 1)
    rows_and_columns_kernel(x, z).launch(grid=grid, block=(bx, by, 1))


@tt.jit
def static_block(x: cute.Tensor, z: cute.Tensor, bx: tt.Constexpr[int], by: tt.Constexpr[int]) -> None:
    rows, columns = z.shape
    grid = (cute.ceil_div(columns, bx), cute.ceil_div(rows, by), 1)
    rows_and_columns_kernel(x, z).launch(grid=grid, block=(bx, by, 1))


def _rows_and_columns(launch: Any, shape: Any, block: Any, memory: tuple[str, str], seed: int) -> None:
    x = laid_out(whole(seed, shape, np.int32, 1000), memory[0])
    rows, columns = np.indices(shape, np.int32)
    with output(shape, np.int32, memory[1]) as z:
        launch(x, z, *block)
        same(z, x * 3 + rows - 2 * columns)


@case(16, shape=shapes(2, 90), block=blocks(2), memory=MEMORIES, seed=SEEDS)
def rows_and_columns(**drawn: Any) -> None:
    _rows_and_columns(run_time_block, **drawn)


STATIC = st.sampled_from([(8, 4), (33, 1), (1, 1024), (5, 3), (32, 32), (16, 64), (3, 7)])


@case(12, shape=shapes(2, 90), block=STATIC, memory=MEMORIES, seed=SEEDS)
def rows_and_columns_of_static_blocks(**drawn: Any) -> None:
    _rows_and_columns(static_block, **drawn)


@tt.kernel
def boxes_kernel(x: cute.Tensor, z: cute.Tensor) -> None:
    """Three dimensions with the last one fastest, and a return instead of an if."""
    thread, block, threads = cute.arch.thread_idx(), cute.arch.block_idx(), cute.arch.block_dim()
    i, j, k = (block[axis] * threads[axis] + thread[axis] for axis in (2, 1, 0))
    if not cute.elem_less((i, j, k), z.shape):
        return
    z[i, j, k] = x[i, j, k] - 5 * i + 3 * j - k


@tt.jit
def boxes(x: cute.Tensor, z: cute.Tensor, bx: tt.Int32, by: tt.Int32, bz: tt.Int32) -> None:
    planes, rows, columns = z.shape
    grid = (cute.ceil_div(columns, bx), cute.ceil_div(rows, by), cute.ceil_div(planes, bz))
    boxes_kernel(x, z).launch(grid=grid, block=(bx, by, bz))


@tt.jit
def static_boxes(x: cute.Tensor, z: cute.Tensor, block: tt.Constexpr[Any]) -> None:
    grid = tuple(cute.ceil_div(z.shape[2 - axis], block[axis]) for axis in range(3))
    boxes_kernel(x, z).launch(grid=grid, block=block)


def _boxes(launch: Any, shape: Any, block: Any, memory: tuple[str, str], seed: int) -> None:
    x = laid_out(whole(seed, shape, np.float64, 1000), memory[0])
    i, j, k = np.indices(shape)
    with output(shape, np.float64, memory[1]) as z:
        launch(x, z, *block)
        same(z, x - 5 * i + 3 * j - k)


@case(14, shape=shapes(3, 24), block=blocks(3), memory=MEMORIES, seed=SEEDS)
def planes_rows_and_columns(**drawn: Any) -> None:
    _boxes(boxes, **drawn)


BOXES = st.sampled_from([(4, 4, 2), (5, 3, 7), (1, 1, 64), (2, 33, 3), (16, 8, 8), (1, 1, 1)]).map(lambda b: (b,))


@case(6, shape=shapes(3, 24), block=BOXES, memory=MEMORIES, seed=SEEDS)
def planes_rows_and_columns_of_static_blocks(**drawn: Any) -> None:
    _boxes(static_boxes, **drawn)
