"""Registers of a thread: fragments with static and run-time indices, and vectors of 1 to 8 elements as values."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import MEMORY, SEEDS, WRITABLE, Array, block_sizes, laid_out, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from tests.differential.kernel_suite.elementwise import number_of_thread
from triptych import cute


# fragments ------------------------------------------------------------------------------------------------------------
@tt.kernel
def sort_kernel(x: cute.Tensor, out: cute.Tensor, width: tt.Constexpr[int]) -> None:
    """Every thread sorts a row by insertion, at indices that only run time knows."""
    row = number_of_thread()
    if row < x.shape[0]:
        sorted_row = cute.make_rmem_tensor(width, x.element_type)
        for i in range(width):
            value = x[row, i]
            place = i
            while place > 0 and sorted_row[place - 1] > value:
                sorted_row[place] = sorted_row[place - 1]
                place -= 1
            sorted_row[place] = value
        for i in tt.range_constexpr(width):
            out[row, i] = sorted_row[i]


@tt.jit
def sort_rows(x: cute.Tensor, out: cute.Tensor, block: tt.Int32, width: tt.Constexpr[int]) -> None:
    sort_kernel(x, out, width).launch(grid=cute.ceil_div(x.shape[0], block), block=block)


@case(
    5,
    rows=st.integers(1, 500),
    width=st.sampled_from([1, 4, 7, 16]),
    dtype=st.sampled_from(["int32", "float32", "int8", "float64"]),
    memory=MEMORY,
    block=block_sizes(),
    seed=SEEDS,
)
def rows_sorted_in_registers(rows: int, width: int, dtype: str, memory: str, block: int, seed: int) -> None:
    x = laid_out(whole(seed, (rows, width), dtype, 20), memory)
    with output((rows, width), dtype) as out:
        sort_rows(x, out, block, width)
        same(out, np.sort(x, axis=1))


@tt.kernel
def recurrence_kernel(x: cute.Tensor, out: cute.Tensor, steps: tt.Int32) -> None:
    """A ring of registers: written at static places, then at `step % 5`, with a matrix of another shape beside it."""
    i = number_of_thread()
    if i < cute.size(x):
        ring = cute.make_rmem_tensor(5, tt.Int64)
        seen = cute.make_rmem_tensor((2, 3), tt.Int64)
        seen.fill(0)
        for k in tt.range_constexpr(5):
            ring[k] = x[i] + k
        for step in range(steps):
            value = ring[step % 5] + ring[(step + 2) % 5]
            ring[step % 5] = value % 1000
            seen[value % 2, step % 3] = seen[value % 2, step % 3] + value
        out[i, 0] = ring[steps % 5]
        for a in tt.range_constexpr(2):
            for b in tt.range_constexpr(3):
                out[i, 1 + 3 * a + b] = seen[a, b]


@tt.jit
def recurrence(x: cute.Tensor, out: cute.Tensor, steps: tt.Int32, block: tt.Int32) -> None:
    recurrence_kernel(x, out, steps).launch(grid=cute.ceil_div(cute.size(x), block), block=block)


def _recurrence(x: Array, steps: int) -> Array:
    ring = [x + k for k in range(5)]
    seen = np.zeros((2, 3, len(x)), np.int64)
    for step in range(steps):
        value = ring[step % 5] + ring[(step + 2) % 5]
        ring[step % 5] = value % 1000
        for parity in (0, 1):
            seen[parity, step % 3] += np.where(value % 2 == parity, value, 0)
    return np.stack([ring[steps % 5], *seen.reshape(6, -1)], axis=1)


@case(8, n=st.integers(1, 700), steps=st.integers(0, 40), block=block_sizes(), seed=SEEDS)
def ring_of_registers(n: int, steps: int, block: int, seed: int) -> None:
    x = whole(seed, n, np.int64, 500)
    with output((n, 7), np.int64) as out:
        recurrence(x, out, steps, block)
        same(out, _recurrence(x, steps))


# vectors as values ----------------------------------------------------------------------------------------------------
@tt.kernel
def vector_kernel(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, each: tt.Constexpr[int]) -> None:
    """`each` neighbours for every thread in one access; the last thread's rest one by one."""
    i = number_of_thread()
    n = cute.size(out)
    if (i + 1) * each <= n:
        part = tuple(cute.local_tile(t, (each,), (i,)) for t in (x, y, out))
        a, b = part[0].load(), part[1].load()
        part[2].store(cute.where(a > b, a * 2 - b, b + 1))
    else:
        for k in range(i * each, n):
            out[k] = x[k] * 2 - y[k] if x[k] > y[k] else y[k] + 1


@tt.jit
def vectors(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, block: tt.Int32, each: tt.Constexpr[int]) -> None:
    threads = cute.ceil_div(cute.size(out), each)
    vector_kernel(x, y, out, each).launch(grid=cute.ceil_div(threads, block), block=block)


@case(
    8,
    n=st.integers(1, 3000),
    each=st.integers(1, 8),
    dtype=st.sampled_from(["int8", "int32", "float16", "float32", "float64", "uint64"]),
    memory=st.tuples(MEMORY, MEMORY, WRITABLE),
    block=block_sizes(),
    seed=SEEDS,
)
def vectors_of_neighbours(n: int, each: int, dtype: str, memory: Any, block: int, seed: int) -> None:
    x, y = (laid_out(whole(seed + k, n, dtype, 20), memory[k]) for k in (0, 1))
    with output(n, dtype, memory[2]) as out:
        vectors(x, y, out, block, each)
        same(out, np.where(x > y, x * 2 - y, y + 1))


@tt.kernel
def rows_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    """A tile of 2 x 4 for each thread: reduced over columns, over rows, and as a whole."""
    i = number_of_thread()
    tiles = cute.zipped_divide(x, (2, 4))
    if i < cute.size(tiles, mode=[1]):
        tile = tiles[(None, None), i].load()
        columns = tile.reduce(cute.ReductionOp.ADD, 0, (None, 1))
        rows = tile.reduce(cute.ReductionOp.MAX, -1000, (1, None))
        out[i, 0] = columns[0]
        out[i, 1] = columns[1]
        for k in tt.range_constexpr(4):
            out[i, 2 + k] = rows[k]
        out[i, 6] = tile.reduce(cute.ReductionOp.MIN, 1000, 0)
        out[i, 7] = (tile * tile).reduce(cute.ReductionOp.ADD, 0, 0)


@tt.jit
def tiles(x: cute.Tensor, out: cute.Tensor, block: tt.Int32) -> None:
    rows_kernel(x, out).launch(grid=cute.ceil_div(out.shape[0], block), block=block)


@case(8, tile_rows=st.integers(1, 30), tile_columns=st.integers(1, 20), memory=MEMORY, block=block_sizes(), seed=SEEDS)
def tiles_reduced_in_registers(tile_rows: int, tile_columns: int, memory: str, block: int, seed: int) -> None:
    x = laid_out(whole(seed, (2 * tile_rows, 4 * tile_columns), np.int32, 100), memory)
    # Tiles are numbered down the columns.
    parts = x.reshape(tile_rows, 2, tile_columns, 4).transpose(2, 0, 1, 3).reshape(-1, 2, 4)
    whole_tiles = np.stack([parts.min((1, 2)), (parts * parts).sum((1, 2))], 1)
    with output((len(parts), 8), np.int32) as out:
        tiles(x, out, block)
        same(out, np.concatenate([parts.sum(2), parts.max(1), whole_tiles], 1))


@tt.kernel
def bytes_kernel(x: cute.Tensor, out: cute.Tensor, count: tt.Constexpr[int]) -> None:
    """Registers that are also read byte by byte, and so lie one thread after the other."""
    i = number_of_thread()
    if i < cute.size(x):
        words = cute.make_rmem_tensor(count, tt.Int32)
        words.fill(x[i])
        words.store(words.load() * words.load())
        parts = cute.recast_tensor(words, tt.Uint8)
        for k in tt.range_constexpr(count):
            out[i, k] = words[k] + parts[4 * k + 1]


@tt.jit
def second_bytes(x: cute.Tensor, out: cute.Tensor, block: tt.Int32, count: tt.Constexpr[int]) -> None:
    bytes_kernel(x, out, count).launch(grid=cute.ceil_div(cute.size(x), block), block=block)


@case(5, n=st.integers(1, 300), count=st.sampled_from([3, 4, 7]), block=block_sizes(), seed=SEEDS)
def registers_read_as_bytes(n: int, count: int, block: int, seed: int) -> None:
    x = whole(seed, n, np.int32, 1000)
    with output((n, count), np.int32) as out:
        second_bytes(x, out, block, count)
        same(out, np.repeat((x * x + (x * x >> 8) % 256)[:, None], count, axis=1))
