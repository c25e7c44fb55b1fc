"""Host functions with several launches: data flows between kernels, and the host has loops and branches around them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import SEEDS, Array, block_sizes, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.block_sharing import MOST, reduce_block, shared
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from tests.differential.kernel_suite.elementwise import number_of_thread
from triptych import cute


@tt.kernel
def block_sums(x: cute.Tensor, sums: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    block, _, _ = cute.arch.block_idx()
    i = block * threads + thread
    values = shared(tt.Int64, MOST)
    values[thread] = x[i] if i < cute.size(x) else 0
    cute.arch.sync_threads()
    reduce_block(values, thread, threads, lambda a, b: a + b)
    if thread == 0:
        sums[block] = values[0]


# one after the other --------------------------------------------------------------------------------------------------
@tt.jit
def sum_in_two_steps(x: cute.Tensor, sums: cute.Tensor, out: cute.Tensor, block: tt.Int32, last: tt.Int32) -> None:
    """The sums of blocks, then the sum of those by one block of another size."""
    block_sums(x, sums).launch(grid=cute.size(sums), block=block)
    block_sums(sums, out).launch(grid=1, block=last)


@case(10, n=st.integers(1, 6000), block=block_sizes(), spare=st.integers(0, 20), seed=SEEDS)
def a_kernel_reads_what_the_one_before_wrote(n: int, block: int, spare: int, seed: int) -> None:
    block = max(block, -(-n // 1000))
    x = whole(seed, n, np.int64, 1000)
    count = -(-n // block)
    with output(count, np.int64) as sums, output(1, np.int64) as out:
        sum_in_two_steps(x, sums, out, block, min(count + spare, 1024))
        same(sums, np.add.reduceat(x, range(0, n, block)))
        same(out, x.sum())


# loops of the host ----------------------------------------------------------------------------------------------------
@tt.kernel
def smooth(source: cute.Tensor, target: cute.Tensor, add: tt.Int32) -> None:
    i = number_of_thread()
    n = cute.size(source)
    if i < n:
        target[i] = source[i] + source[(i + 1) % n] + add


@tt.jit
def smoothed(a: cute.Tensor, b: cute.Tensor, steps: tt.Int32, limit: tt.Int32, block: tt.Int32) -> None:
    """Back and forth between two buffers; the host's loop is left early, and skips what an `if` says."""
    grid = cute.ceil_div(cute.size(a), block)
    for step in range(steps):
        if step == limit:
            break
        if step % 3 == 2:
            continue
        smooth(a, b, step).launch(grid=grid, block=block)
        smooth(b, a, -step).launch(grid=grid, block=block)


def _smoothed(a: Array, steps: int, limit: int) -> Array:
    for step in range(min(steps, limit)):
        if step % 3 != 2:
            b = a + np.roll(a, -1) + step
            a = b + np.roll(b, -1) - step
    return a


@case(10, n=st.integers(1, 2000), steps=st.integers(0, 9), limit=st.integers(0, 9), block=block_sizes(), seed=SEEDS)
def launches_in_a_loop_of_the_host(n: int, steps: int, limit: int, block: int, seed: int) -> None:
    start = whole(seed, n, np.int64, 100)
    with output(n, np.int64) as a, output(n, np.int64) as b:
        a[:] = start
        smoothed(a, b, steps, limit, block)
        same(a, _smoothed(start, steps, limit))


@tt.jit
def halving(x: cute.Tensor, block: tt.Int32, odd: tt.Boolean) -> None:
    """The grid shrinks with the data; a branch of the host chooses between kernels."""
    n = tt.Int32(cute.size(x))
    while n > 1:
        half = (n + 1) // 2
        fold(x, n, half).launch(grid=cute.ceil_div(half, block), block=block)
        n = half
    if odd:
        scale(x, 3).launch(grid=1, block=1)
    else:
        scale(x, -2).launch(grid=1, block=1)


@tt.kernel
def fold(x: cute.Tensor, n: tt.Int32, half: tt.Int32) -> None:
    i = number_of_thread()
    if i + half < n:
        x[i] = x[i] + x[i + half]


@tt.kernel
def scale(x: cute.Tensor, by: tt.Int32) -> None:
    x[0] = x[0] * by


@case(8, n=st.integers(1, 5000), block=block_sizes(), odd=st.booleans(), seed=SEEDS)
def launches_whose_grid_the_host_computes(n: int, block: int, odd: bool, seed: int) -> None:
    start = whole(seed, n, np.int32, 100)
    with output(n, np.int32) as x:
        x[:] = start
        halving(x, block, odd)
        same(x[:1], start.sum() * (3 if odd else -2))


# the same kernel in other shapes --------------------------------------------------------------------------------------
SIZES = (1, 20, 32, 100, 256, 1024)


@tt.jit
def in_all_shapes(x: cute.Tensor, sums: cute.Tensor) -> None:
    """One kernel with several static blocks in one function, each into a row of its own."""
    for row, block in enumerate(SIZES):
        block_sums(x, sums[row, None]).launch(grid=cute.ceil_div(cute.size(x), block), block=block)


@case(6, n=st.integers(1, 3000), seed=SEEDS)
def one_kernel_with_many_static_blocks(n: int, seed: int) -> None:
    x = whole(seed, n, np.int64, 1000)
    with output((len(SIZES), n), np.int64) as sums:
        sums[...] = 0
        in_all_shapes(x, sums)
        for row, block in enumerate(SIZES):
            parts = np.add.reduceat(x, range(0, n, block))
            same(sums[row], np.append(parts, np.zeros(n - len(parts), np.int64)))


@tt.kernel
def corner(x: cute.Tensor, first: tt.Int32, factor: tt.Constexpr[int]) -> None:
    tx, ty, tz = cute.arch.thread_idx()
    dx, dy, _ = cute.arch.block_dim()
    bx, by, bz = cute.arch.block_idx()
    gx, gy, _ = cute.arch.grid_dim()
    threads = dx * dy * cute.arch.block_dim()[2]
    x[first + ((bz * gy + by) * gx + bx) * threads + (tz * dy + ty) * dx + tx] = factor * (tx + 10 * ty + 100 * tz)


@tt.jit
def several(x: cute.Tensor, g: tt.Int32, b: tt.Int32) -> None:
    """Kernels of other ranks, with static and run-time dimensions mixed."""
    corner(x, 0, 1).launch(grid=(g, 1, 1), block=(3, b, 2))
    corner(x, 6 * b * g, 2).launch(grid=(1, 2, g), block=(b, 1, 1))
    corner(x, 8 * b * g, 3).launch(grid=(2, g, 1), block=(1, 2, b))


@case(8, g=st.integers(0, 9), b=st.integers(1, 64))
def several_kernels_of_other_ranks(g: int, b: int) -> None:
    expected = [
        np.tile((factor * (x + 10 * y + 100 * z)).ravel(), blocks)
        for factor, (dx, dy, dz), blocks in ((1, (3, b, 2), g), (2, (b, 1, 1), 2 * g), (3, (1, 2, b), 2 * g))
        for z, y, x in [np.indices((dz, dy, dx))]
    ]
    with output(12 * b * g, np.int32) as x:
        several(x, g, b)
        same(x, np.concatenate(expected))
