"""Products of matrices by tiles in shared memory, with tails on all sides; exactly, and in rounded arithmetic."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import MEMORY, SEEDS, WRITABLE, laid_out, output, shapes
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same, within
from triptych import cute


def inside(t: Any, row: Any, column: Any) -> Any:
    """An element in Float32, zero outside of the matrix."""
    rows, columns = t.shape
    value = tt.Float32(0.0)
    if row < rows and column < columns:
        value = t[row, column].to(tt.Float32)
    return value


@tt.kernel
def tiled_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, side: tt.Constexpr[int]) -> None:
    """A tile of side x side for each block, an element for each thread, barriers in the loop."""
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    allocator = cute.SmemAllocator()
    tile_a, tile_b = (
        allocator.allocate_tensor(tt.Float32, cute.make_layout((side, side), stride=(side, 1)), 16) for _ in "ab"
    )
    row, column = by * side + ty, bx * side + tx
    total = tt.Float32(0.0)
    for first in range(0, a.shape[1], side):
        tile_a[ty, tx] = inside(a, row, first + tx)
        tile_b[ty, tx] = inside(b, first + ty, column)
        cute.arch.sync_threads()
        for k in range(side):
            total += tile_a[ty, k] * tile_b[k, tx]
        cute.arch.sync_threads()
    rows, columns = c.shape
    if row < rows and column < columns:
        c[row, column] = total.to(c.element_type)


@tt.jit
def tiled(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, side: tt.Constexpr[int]) -> None:
    rows, columns = c.shape
    grid = (cute.ceil_div(columns, side), cute.ceil_div(rows, side), 1)
    tiled_kernel(a, b, c, side).launch(grid=grid, block=(side, side, 1))


@tt.kernel
def registers_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, side: tt.Constexpr[int]) -> None:
    """A tile of 2 side x 2 side for each block, four elements for each thread."""
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    allocator = cute.SmemAllocator()
    tile_a = allocator.allocate_tensor(tt.Float32, cute.make_layout((2 * side, side)), 16)
    tile_b = allocator.allocate_tensor(tt.Float32, cute.make_layout((side, 2 * side), stride=(2 * side, 1)), 16)
    totals = cute.make_rmem_tensor((2, 2), tt.Float32)
    totals.fill(0.0)
    for first in range(0, a.shape[1], side):
        for i in tt.range_constexpr(2):
            tile_a[ty + i * side, tx] = inside(a, by * 2 * side + ty + i * side, first + tx)
            tile_b[ty, tx + i * side] = inside(b, first + ty, bx * 2 * side + tx + i * side)
        cute.arch.sync_threads()
        for k in range(side):
            for i in tt.range_constexpr(2):
                for j in tt.range_constexpr(2):
                    totals[i, j] = totals[i, j] + tile_a[ty + i * side, k] * tile_b[k, tx + j * side]
        cute.arch.sync_threads()
    rows, columns = c.shape
    for i in tt.range_constexpr(2):
        for j in tt.range_constexpr(2):
            row, column = by * 2 * side + ty + i * side, bx * 2 * side + tx + j * side
            if row < rows and column < columns:
                c[row, column] = totals[i, j].to(c.element_type)


@tt.jit
def in_registers(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, side: tt.Constexpr[int]) -> None:
    rows, columns = c.shape
    grid = (cute.ceil_div(columns, 2 * side), cute.ceil_div(rows, 2 * side), 1)
    registers_kernel(a, b, c, side).launch(grid=grid, block=(side, side, 1))


SIZES = shapes(3, 80)
PRODUCTS = st.sampled_from([tiled, in_registers])
SIDES = st.sampled_from([4, 7, 16])


@case(
    6,
    product=PRODUCTS,
    sizes=SIZES,
    side=SIDES,
    dtype=st.sampled_from([np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]),
    memory=st.tuples(MEMORY, MEMORY, WRITABLE),
    seed=SEEDS,
)
def products_of_whole_numbers(product: Any, sizes: Any, side: int, dtype: Any, memory: Any, seed: int) -> None:
    m, n, k = sizes
    a = laid_out(whole(seed, (m, k), dtype), memory[0])
    b = laid_out(whole(seed + 1, (k, n), dtype), memory[1])
    with output((m, n), np.float32, memory[2]) as c:
        product(a, b, c, side)
        same(c, a.astype(np.int64) @ b.astype(np.int64))


@case(6, product=PRODUCTS, sizes=SIZES, side=SIDES, seed=SEEDS)
def products_in_rounded_arithmetic(product: Any, sizes: Any, side: int, seed: int) -> None:
    """|found - exact| <= k * 2**-24 * |a| |b|, the bound of any order of summation, with a fused product or not."""
    m, n, k = sizes
    random = np.random.default_rng(seed)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
    exact = a.astype(np.float64) @ b
    with output((m, n), np.float32) as c:
        product(a, b, c, side)
        within(c, exact, 1.01 * (k + 1) * 2.0**-24 * (np.abs(a).astype(np.float64) @ np.abs(b)))
