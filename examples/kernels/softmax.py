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

import triptych as tt
from triptych import cute, workbench

THREADS = 128


def block_reduce(value: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """The values of all threads of the block combined, in every thread."""
    warps = THREADS // cute.arch.WARP_SIZE
    parts = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(warps))
    value = cute.arch.warp_reduction(value, combine)
    if cute.arch.lane_idx() == 0:
        parts[cute.arch.warp_idx()] = value
    cute.arch.sync_threads()
    result = parts[0]
    for warp in tt.range_constexpr(1, warps):
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


CASES = {
    **{f"{rows} x {columns}": {"rows": rows, "columns": columns} for rows, columns in ((3, 31), (5, 128), (64, 257))},
    "large": {"rows": 1024, "columns": 1024, "bench": True},
}


def kernel_fn(x: np.ndarray) -> np.ndarray:
    y = np.empty_like(x)
    softmax(x, y)
    return y


reference_fn = baseline_fn = exact_softmax


def get_inputs(rows: int = 7, columns: int = 1000, seed: int = 0) -> list[np.ndarray]:
    return [10 * np.random.default_rng(seed).standard_normal((rows, columns), np.float32)]


def algorithmic_flops_bytes(x: np.ndarray) -> tuple[int, int]:
    return 5 * x.size, 2 * x.nbytes


workbench.main(__name__)
