"""Loops of threads: grid-stride loops, divergent loops with `break`, `continue`, `return` and `else`."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import MEMORY, SEEDS, Array, block_sizes, laid_out, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from tests.differential.kernel_suite.elementwise import number_of_thread
from triptych import cute

LAUNCH = {"block": block_sizes(), "grid": st.integers(1, 5), "seed": SEEDS}


def threads_of_grid() -> Any:
    threads, _, _ = cute.arch.block_dim()
    blocks, _, _ = cute.arch.grid_dim()
    return threads * blocks


# grid-stride loops ----------------------------------------------------------------------------------------------------
@tt.kernel
def strided_for(x: cute.Tensor, y: cute.Tensor, sums: cute.Tensor) -> None:
    first = number_of_thread()
    total = tt.Int32(0)
    for i in range(first, cute.size(x), threads_of_grid()):
        y[i] = x[i] * 2 - 1
        total += x[i]
    sums[first] = total


@tt.kernel
def strided_while(x: cute.Tensor, y: cute.Tensor, sums: cute.Tensor) -> None:
    first = number_of_thread()
    total = tt.Int32(0)
    i = first
    while i < cute.size(x):
        y[i] = x[i] * 2 - 1
        total += x[i]
        i += threads_of_grid()
    sums[first] = total


@tt.kernel
def strided_down(x: cute.Tensor, y: cute.Tensor, sums: cute.Tensor) -> None:
    """From the last element to the first."""
    first = number_of_thread()
    total = tt.Int32(0)
    for i in range(cute.size(x) - 1 - first, -1, -threads_of_grid()):
        y[i] = x[i] * 2 - 1
        total += x[i]
    sums[threads_of_grid() - 1 - first] = total


@tt.jit
def strided(
    x: cute.Tensor, y: cute.Tensor, sums: cute.Tensor, grid: tt.Int32, block: tt.Int32, kernel: tt.Constexpr[Any]
) -> None:
    kernel(x, y, sums).launch(grid=grid, block=block)


@case(20, kernel=st.sampled_from([strided_for, strided_while]), n=st.integers(0, 9000), memory=MEMORY, **LAUNCH)
def grid_stride(kernel: Any, n: int, memory: str, block: int, grid: int, seed: int) -> None:
    x = laid_out(whole(seed, n, np.int32, 1000), memory) if n else np.zeros(0, np.int32)
    threads = grid * block
    padded = np.zeros(-(-n // threads) * threads, np.int32)
    padded[:n] = x
    with output(n, np.int32) as y, output(threads, np.int32) as sums:
        strided(x, y, sums, grid, block, kernel)
        same(y, x * 2 - 1)
        same(sums, padded.reshape(-1, threads).sum(0, dtype=np.int32))


@case(8, n=st.integers(1, 9000), **LAUNCH)
def grid_stride_from_the_end(n: int, block: int, grid: int, seed: int) -> None:
    x = whole(seed, n, np.int32, 1000)
    threads = grid * block
    padded = np.zeros(-(-n // threads) * threads, np.int32)
    padded[len(padded) - n :] = x
    with output(n, np.int32) as y, output(threads, np.int32) as sums:
        strided(x, y, sums, grid, block, strided_down)
        same(y, x * 2 - 1)
        same(sums, padded.reshape(-1, threads).sum(0, dtype=np.int32))


@tt.kernel
def rows_and_columns(x: cute.Tensor, y: cute.Tensor) -> None:
    """Nested: a block for each row in turn, its threads over the columns."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    block, _, _ = cute.arch.block_idx()
    blocks, _, _ = cute.arch.grid_dim()
    rows, columns = x.shape
    for row in range(block, rows, blocks):
        for column in range(thread, columns, threads):
            y[row, column] = x[row, column] + row * columns + column


@tt.jit
def over_matrix(x: cute.Tensor, y: cute.Tensor, grid: tt.Int32, block: tt.Int32) -> None:
    rows_and_columns(x, y).launch(grid=grid, block=block)


@case(10, shape=st.tuples(st.integers(1, 60), st.integers(1, 300)), memory=MEMORY, **LAUNCH)
def nested_grid_stride(shape: Any, memory: str, block: int, grid: int, seed: int) -> None:
    x = laid_out(whole(seed, shape, np.int64, 1000), memory)
    with output(shape, np.int64) as y:
        over_matrix(x, y, grid, block)
        same(y, x + np.arange(x.size).reshape(shape))


# segments of their own length, left early -----------------------------------------------------------------------------
@tt.kernel
def segments_kernel(x: cute.Tensor, ends: cute.Tensor, out: cute.Tensor) -> None:
    """Every thread over its segment: negative numbers are skipped, a zero ends it, a 99 ends the thread."""
    segment = number_of_thread()
    if segment >= cute.size(out):
        return
    begin = tt.Int32(0)
    if segment > 0:
        begin = ends[segment - 1]
    total = tt.Int32(0)
    for i in range(begin, ends[segment]):
        value = x[i]
        if value < 0:
            continue
        if value == 0:
            break
        if value == 99:
            out[segment] = -i
            return
        total += value
    else:
        total += 1000
    out[segment] = total


@tt.jit
def segments(x: cute.Tensor, ends: cute.Tensor, out: cute.Tensor, block: tt.Int32) -> None:
    segments_kernel(x, ends, out).launch(grid=cute.ceil_div(cute.size(out), block), block=block)


def _segment(x: Array, begin: int, end: int) -> int:
    total = 0
    for i in range(begin, end):
        if x[i] == 99:
            return -i
        if x[i] == 0:
            return total
        total += max(int(x[i]), 0)
    return total + 1000


@case(16, count=st.integers(1, 300), longest=st.integers(0, 40), block=block_sizes(), seed=SEEDS)
def segments_left_early(count: int, longest: int, block: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    ends = np.cumsum(random.integers(0, longest + 1, count)).astype(np.int32)
    kinds = np.array([*range(1, 30), *range(-8, 0), 0, 99], np.int32)
    x = random.choice(kinds, max(int(ends[-1]), 1))
    with output(count, np.int32) as out:
        segments(x, ends, out, block)
        same(out, [_segment(x, begin, end) for begin, end in zip([0, *ends], ends, strict=False)])


@tt.kernel
def steps_kernel(start: cute.Tensor, steps: cute.Tensor, top: cute.Tensor, limit: tt.Int32) -> None:
    """3n + 1 until it reaches 1 or a limit of steps; two exits of one loop."""
    i = number_of_thread()
    if i < cute.size(start):
        value = start[i]
        highest = value
        count = tt.Int32(0)
        while value != 1:
            if count >= limit:
                count = -count
                break
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            if value > highest:
                highest = value
            count += 1
        steps[i] = count
        top[i] = highest


@tt.jit
def collatz(start: cute.Tensor, steps: cute.Tensor, top: cute.Tensor, limit: tt.Int32, block: tt.Int32) -> None:
    steps_kernel(start, steps, top, limit).launch(grid=cute.ceil_div(cute.size(start), block), block=block)


def _collatz(value: int, limit: int) -> tuple[int, int]:
    highest, count = value, 0
    while value != 1:
        if count >= limit:
            return -count, highest
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        highest, count = max(highest, value), count + 1
    return count, highest


@case(10, n=st.integers(1, 400), limit=st.integers(0, 120), block=block_sizes(), seed=SEEDS)
def every_thread_its_own_number_of_steps(n: int, limit: int, block: int, seed: int) -> None:
    start = np.random.default_rng(seed).integers(1, 10_000, n)
    expected = np.array([_collatz(int(value), limit) for value in start])
    with output(n, np.int32) as steps, output(n, np.int64) as top:
        collatz(start, steps, top, limit, block)
        same(steps, expected[:, 0])
        same(top, expected[:, 1])
