"""Softmax of every row with five parameters to choose from: a space that `benchmarks.tuning` searches.

A block has `rows` rows, one after the other, and `threads` threads that go through a row side by side, `unroll` steps
written out. Powers are kept in `y`, in shared memory, or computed again for the division. The maximum and the sum of
all threads are found by shuffles inside each warp, or by halves of shared memory.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute, workbench

WARP = cute.arch.WARP_SIZE


@dataclass(frozen=True)
class Tiling:
    """A block's threads and rows, and how its numbers are kept and combined."""

    threads: int = 128
    rows: int = 1
    unroll: int = 1
    kept: str = "global"
    by: str = "shuffles"


TUNE = {
    "threads": [32, 64, 128, 256, 512],
    "rows": [1, 2, 4],
    "unroll": [1, 2, 4],
    "kept": ["global", "shared", "again"],
    "by": ["shuffles", "halves"],
}


def combined(value: Any, combine: Callable[[Any, Any], Any], parts: cute.Tensor, tiling: Tiling) -> Any:
    """The values of all threads of the block, in every thread; `parts` is free before and after."""
    thread, _, _ = cute.arch.thread_idx()
    count = tiling.threads
    if tt.const_expr(tiling.by == "shuffles"):
        value = cute.arch.warp_reduction(value, combine)
        count = count // WARP
        if cute.arch.lane_idx() == 0:
            parts[cute.arch.warp_idx()] = value
    else:
        parts[thread] = value
    cute.arch.sync_threads()
    while tt.const_expr(tiling.by == "halves" and count > WARP):
        count = count // 2
        if thread < count:
            parts[thread] = combine(parts[thread], parts[thread + count])
        cute.arch.sync_threads()
    result = parts[0]
    for i in tt.range_constexpr(1, count):
        result = combine(result, parts[i])
    cute.arch.sync_threads()
    return result


@tt.kernel
def softmax_rows(x: cute.Tensor, y: cute.Tensor, columns: tt.Constexpr[int], tiling: tt.Constexpr[Tiling]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    threads, unroll = tiling.threads, tiling.unroll
    smem = cute.SmemAllocator()
    parts = smem.allocate_tensor(tt.Float32, cute.make_layout(threads))
    powers = smem.allocate_tensor(tt.Float32, cute.make_layout(columns if tiling.kept == "shared" else 1))
    for part in range(tiling.rows):
        row = block * tiling.rows + part
        largest = tt.Float32(float("-inf"))
        for i in tt.range(thread, columns, threads, unroll=unroll):
            largest = cute.arch.fmax(largest, x[row, i])
        largest = combined(largest, cute.arch.fmax, parts, tiling)
        total = tt.Float32(0.0)
        for i in tt.range(thread, columns, threads, unroll=unroll):
            power = cute.math.exp(x[row, i] - largest)
            if tt.const_expr(tiling.kept == "shared"):
                powers[i] = power
            elif tt.const_expr(tiling.kept == "global"):
                y[row, i] = power
            total += power
        scale = 1.0 / combined(total, operator.add, parts, tiling)
        for i in tt.range(thread, columns, threads, unroll=unroll):
            if tt.const_expr(tiling.kept == "shared"):
                y[row, i] = powers[i] * scale
            elif tt.const_expr(tiling.kept == "global"):
                y[row, i] = y[row, i] * scale
            else:
                y[row, i] = cute.math.exp(x[row, i] - largest) * scale


@tt.jit
def softmax(x: cute.Tensor, y: cute.Tensor, columns: tt.Constexpr[int], tiling: tt.Constexpr[Tiling]) -> None:
    softmax_rows(x, y, columns, tiling).launch(grid=x.shape[0] // tiling.rows, block=tiling.threads)


def kernel_fn(x: np.ndarray, **chosen: Any) -> np.ndarray:
    y = np.empty_like(x)
    softmax(x, y, x.shape[1], Tiling(**chosen))
    return y


def compile_job(x: np.ndarray, **chosen: Any) -> Any:
    return partial(tt.compile, softmax, x, np.empty_like(x), x.shape[1], Tiling(**chosen))


def reference_fn(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def get_inputs(rows: int = 128, columns: int = 1024, seed: int = 0) -> list[np.ndarray]:
    return [10 * np.random.default_rng(seed).standard_normal((rows, columns), np.float32)]


workbench.main(__name__)
