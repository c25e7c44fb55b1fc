"""Softmax of every row of a matrix, a block per row.

    y[row, i] = exp(x[row, i] - m) / sum of exp(x[row, j] - m) over j      where m is the largest number of the row

The threads of a block go through their row side by side, in strides of a block: any number of columns will do. Twice
they need one number from all of them, the maximum and the sum: `block_reduce` combines first the lanes of each warp by
shuffles, then the warps through shared memory.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import agree, main, versus_numpy

import triptych as tt
from triptych import cute

THREADS = 128
WARPS = THREADS // cute.arch.WARP_SIZE


def block_reduce(value: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """The values of all threads of the block combined, in every thread."""
    parts = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(WARPS))
    value = cute.arch.warp_reduction(value, combine)
    if cute.arch.lane_idx() == 0:
        parts[cute.arch.warp_idx()] = value
    cute.arch.sync_threads()
    result = parts[0]
    for warp in tt.range_constexpr(1, WARPS):
        result = combine(result, parts[warp])
    return result


@tt.kernel
def softmax_row(x: cute.Tensor, y: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    columns = x.shape[1]

    largest = tt.Float32(float("-inf"))
    for i in range(thread, columns, THREADS):
        largest = cute.arch.fmax(largest, x[row, i])
    largest = block_reduce(largest, cute.arch.fmax)

    total = tt.Float32(0.0)
    for i in range(thread, columns, THREADS):
        power = cute.math.exp(x[row, i] - largest)
        y[row, i] = power
        total += power
    scale = 1.0 / block_reduce(total, operator.add)

    for i in range(thread, columns, THREADS):
        y[row, i] = y[row, i] * scale


@tt.jit
def softmax(x: cute.Tensor, y: cute.Tensor) -> None:
    softmax_row(x, y).launch(grid=x.shape[0], block=THREADS)


def exact_softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def check() -> None:
    random = np.random.default_rng(0)
    shapes = ((1, 1), (3, 31), (5, 128), (7, 1000), (64, 257))
    for shape in shapes:
        x = 10 * random.standard_normal(shape, np.float32)
        y = np.empty_like(x)
        softmax(x, y)
        agree(y, exact_softmax(x.astype(np.float64)), 1e-6)
    huge = np.array([[1e30, -1e30, 1e30, 0.0]], np.float32)
    y = np.empty_like(huge)
    softmax(huge, y)
    agree(y, np.array([[0.5, 0.0, 0.5, 0.0]]))
    print(f"softmax: agrees with float64 for {', '.join(map(str, shapes))} and huge numbers")


def benchmark() -> None:
    x = np.random.default_rng(0).standard_normal((4096, 1024), np.float32)
    y = np.empty_like(x)
    versus_numpy("softmax 4096 x 1024", lambda: softmax(x, y), lambda: exact_softmax(x), moved=2 * x.nbytes)


if __name__ == "__main__":
    main(check, benchmark)
