"""Blocks that work together: reductions and scans of any block size with barriers in loops, stencils with halos."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import SEEDS, Array, block_sizes, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from triptych import cute

MOST = 1024
OPERATIONS: dict[str, tuple[Any, Any]] = {
    "sum": (lambda x, y: x + y, np.add),
    "largest": (lambda x, y: cute.arch.fmax(x, y), np.maximum),
    "smallest": (lambda x, y: x if x < y else y, np.minimum),
}


def shared(dtype: Any, layout: Any) -> Any:
    return cute.SmemAllocator().allocate_tensor(dtype, cute.make_layout(layout), 16)


# reduction ------------------------------------------------------------------------------------------------------------
def reduce_block(values: Any, thread: Any, threads: Any, combine: Any) -> None:
    """The combination of the first `threads` values into the first one, halving; any number of threads."""
    count = threads
    while count > 1:
        half = (count + 1) // 2
        if thread < count - half:
            values[thread] = combine(values[thread], values[thread + half])
        cute.arch.sync_threads()
        count = half


@tt.kernel
def reduce_kernel(x: cute.Tensor, out: cute.Tensor, operation: tt.Constexpr[str]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    block, _, _ = cute.arch.block_idx()
    values = shared(x.element_type, MOST)
    values[thread] = x[block, thread]
    cute.arch.sync_threads()
    reduce_block(values, thread, threads, OPERATIONS[operation][0])
    if thread == 0:
        out[block] = values[0]


@tt.jit
def reduce_rows(x: cute.Tensor, out: cute.Tensor, operation: tt.Constexpr[str]) -> None:
    rows, columns = x.shape
    reduce_kernel(x, out, operation).launch(grid=rows, block=columns)


@tt.jit
def reduce_rows_static(x: cute.Tensor, out: cute.Tensor, block: tt.Constexpr[int]) -> None:
    reduce_kernel(x, out, "sum").launch(grid=x.shape[0], block=block)


ROWS = st.integers(1, 9)


@case(
    8,
    rows=ROWS,
    block=block_sizes(),
    dtype=st.sampled_from(["int8", "int32", "int64", "float16", "float32", "float64"]),
    operation=st.sampled_from(sorted(OPERATIONS)),
    seed=SEEDS,
)
def block_reduction(rows: int, block: int, dtype: str, operation: str, seed: int) -> None:
    x = whole(seed, (rows, block), dtype, 1 if dtype == "float16" else 9)
    with output(rows, dtype) as out:
        reduce_rows(x, out, operation)
        same(out, OPERATIONS[operation][1].reduce(x, axis=1, dtype=dtype))


@case(7, rows=ROWS, block=st.sampled_from([1, 7, 32, 33, 96, 333, 1024]), seed=SEEDS)
def block_reduction_of_static_blocks(rows: int, block: int, seed: int) -> None:
    x = whole(seed, (rows, block), np.float32, 9)
    with output(rows, np.float32) as out:
        reduce_rows_static(x, out, block)
        same(out, x.sum(1))


# scans ----------------------------------------------------------------------------------------------------------------
@tt.kernel
def scan_in_place(x: cute.Tensor, out: cute.Tensor) -> None:
    """Two barriers in each step: all read, then all write."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    sums = shared(x.element_type, MOST)
    sums[thread] = x[row, thread]
    cute.arch.sync_threads()
    distance = tt.Int32(1)
    while distance < threads:
        own = sums[thread]
        if thread >= distance:
            own += sums[thread - distance]
        cute.arch.sync_threads()
        sums[thread] = own
        cute.arch.sync_threads()
        distance *= 2
    out[row, thread] = sums[thread]


@tt.kernel
def scan_double_buffered(x: cute.Tensor, out: cute.Tensor) -> None:
    """One barrier in each step: the buffers change places."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    sums = shared(x.element_type, (2, MOST))
    here = tt.Int32(0)
    sums[here, thread] = x[row, thread]
    cute.arch.sync_threads()
    distance = tt.Int32(1)
    while distance < threads:
        there = 1 - here
        if thread >= distance:
            sums[there, thread] = sums[here, thread] + sums[here, thread - distance]
        else:
            sums[there, thread] = sums[here, thread]
        cute.arch.sync_threads()
        here = there
        distance *= 2
    out[row, thread] = sums[here, thread]


@tt.kernel
def scan_by_a_tree(x: cute.Tensor, out: cute.Tensor) -> None:
    """Up and down a tree over a power of two of places, by fewer threads than places."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    tree = shared(x.element_type, MOST)
    places = tt.Int32(1)
    while places < threads:
        places *= 2
    for i in range(thread, places, threads):
        tree[i] = x[row, i] if i < threads else 0
    gap = tt.Int32(1)
    while gap < places:
        cute.arch.sync_threads()
        right = (thread + 1) * gap * 2 - 1
        if right < places:
            tree[right] = tree[right] + tree[right - gap]
        gap *= 2
    cute.arch.sync_threads()
    if thread == 0:
        tree[places - 1] = 0
    while gap > 1:
        gap //= 2
        cute.arch.sync_threads()
        right = (thread + 1) * gap * 2 - 1
        if right < places:
            left = tree[right - gap]
            tree[right - gap] = tree[right]
            tree[right] = tree[right] + left
    cute.arch.sync_threads()
    out[row, thread] = tree[thread] + x[row, thread]


@tt.jit
def scan_rows(x: cute.Tensor, out: cute.Tensor, kernel: tt.Constexpr[Any]) -> None:
    rows, columns = x.shape
    kernel(x, out).launch(grid=rows, block=columns)


@case(
    9,
    rows=ROWS,
    block=block_sizes(),
    dtype=st.sampled_from(["int16", "int32", "float32", "float64"]),
    kernel=st.sampled_from([scan_in_place, scan_double_buffered, scan_by_a_tree]),
    seed=SEEDS,
)
def inclusive_scan(rows: int, block: int, dtype: str, kernel: Any, seed: int) -> None:
    x = whole(seed, (rows, block), dtype, 9)
    with output((rows, block), dtype) as out:
        scan_rows(x, out, kernel)
        same(out, np.cumsum(x, axis=1, dtype=dtype))


@tt.kernel
def passing_kernel(x: cute.Tensor, rounds: tt.Int32) -> None:
    """The block exchanges through global memory: what was read before a barrier is not what is there after it."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    for _ in range(rounds):
        first = x[row, 0]
        neighbour = x[row, (thread + 1) % threads]
        cute.arch.sync_threads()
        x[row, thread] = neighbour - first
        cute.arch.sync_threads()


@tt.jit
def passed_on(x: cute.Tensor, rounds: tt.Int32) -> None:
    rows, columns = x.shape
    passing_kernel(x, rounds).launch(grid=rows, block=columns)


@case(10, rows=ROWS, block=block_sizes(), rounds=st.integers(0, 6), seed=SEEDS)
def exchange_through_global_memory(rows: int, block: int, rounds: int, seed: int) -> None:
    expected = whole(seed, (rows, block), np.int64, 1000)
    with output((rows, block), np.int64) as x:
        x[...] = expected
        passed_on(x, rounds)
        for _ in range(rounds):
            expected = np.roll(expected, -1, axis=1) - expected[:, :1]
        same(x, expected)


# stencils -------------------------------------------------------------------------------------------------------------
@tt.kernel
def stencil_kernel(x: cute.Tensor, out: cute.Tensor, radius: tt.Constexpr[int]) -> None:
    """The sum of `radius` neighbours to each side; outside of the array there are zeros."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    block, _, _ = cute.arch.block_idx()
    window = shared(x.element_type, MOST + 2 * radius)
    first = block * threads - radius
    for place in range(thread, threads + 2 * radius, threads):
        source = first + place
        window[place] = x[source] if source >= 0 and source < cute.size(x) else 0
    cute.arch.sync_threads()
    i = block * threads + thread
    if i < cute.size(x):
        total = window[thread]
        for offset in tt.range_constexpr(1, 2 * radius + 1):
            total += window[thread + offset]
        out[i] = total


@tt.jit
def stencil(x: cute.Tensor, out: cute.Tensor, block: tt.Int32, radius: tt.Constexpr[int]) -> None:
    stencil_kernel(x, out, radius).launch(grid=cute.ceil_div(cute.size(x), block), block=block)


@case(14, n=st.integers(1, 4000), block=block_sizes(), radius=st.sampled_from([1, 2, 5, 40]), seed=SEEDS)
def stencil_with_halo(n: int, block: int, radius: int, seed: int) -> None:
    x = whole(seed, n, np.int32, 1000)
    with output(n, np.int32) as out:
        stencil(x, out, block, radius)
        same(out, np.convolve(x, np.ones(2 * radius + 1, np.int32))[radius : radius + n])


TILE = (16, 12)


@tt.kernel
def plane_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    """Four neighbours in a plane; the halo has rows, columns and unused corners."""
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    width, height = TILE
    rows, columns = x.shape
    tile = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout((height + 2, width + 2)))
    for dy in range(ty, height + 2, height):
        for dx in range(tx, width + 2, width):
            row, column = by * height + dy - 1, bx * width + dx - 1
            value = tt.Float32(0.0)
            if row >= 0 and row < rows and column >= 0 and column < columns:
                value = x[row, column]
            tile[dy, dx] = value
    cute.arch.sync_threads()
    row, column = by * height + ty, bx * width + tx
    if row < rows and column < columns:
        around = tile[ty, tx + 1] + tile[ty + 2, tx + 1] + tile[ty + 1, tx] + tile[ty + 1, tx + 2]
        out[row, column] = around - 4.0 * tile[ty + 1, tx + 1]


@tt.jit
def laplace(x: cute.Tensor, out: cute.Tensor) -> None:
    rows, columns = x.shape
    grid = (cute.ceil_div(columns, TILE[0]), cute.ceil_div(rows, TILE[1]), 1)
    plane_kernel(x, out).launch(grid=grid, block=(*TILE, 1))


def _laplace(x: Array) -> Array:
    around = np.pad(x, 1)
    neighbours: Array = around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]
    neighbours -= 4 * x
    return neighbours


@case(10, shape=st.tuples(st.integers(1, 70), st.integers(1, 70)), seed=SEEDS)
def stencil_of_a_plane(shape: Any, seed: int) -> None:
    x = whole(seed, shape, np.float32, 100)
    with output(shape, np.float32) as out:
        laplace(x, out)
        same(out, _laplace(x))
