"""c = a @ b with seven parameters to choose from: what `benchmarks.tuning` searches.

A block computes an `m` x `n` tile of `c` and walks along k in steps of `k`; a thread has `rows` x `columns` of it in
registers. `stages` tiles of `a` and `b` are in shared memory: the next are brought while one is multiplied. Extents are
multiples of the tiles; `config_problems` says which tilings are none, and needs no compilation for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute, workbench
from triptych.workbench.devices import Device
from triptych.workbench.tiling import (
    multiple_problems,
    register_problems,
    shared_problems,
    thread_problems,
)


@dataclass(frozen=True)
class Tiling:
    """A block's tile, a thread's part of it, buffers, and steps of the inner loop that are written out."""

    m: int = 64
    n: int = 64
    k: int = 16
    rows: int = 4
    columns: int = 4
    stages: int = 2
    unroll: int = 1

    @property
    def threads(self) -> int:
        return self.m // self.rows * (self.n // self.columns)


CPU_SPACE = {
    "m": [32, 64, 128],
    "n": [32, 64, 128],
    "k": [8, 16],
    "rows": [2, 4],
    "columns": [1, 2, 4],
    "stages": [1, 2],
    "unroll": [1, 4],
}
GPU_SPACE = {
    "m": [64, 256],
    "n": [64, 256],
    "k": [8, 64],
    "rows": [16],
    "columns": [4, 8],
    "stages": [1, 3],
    "unroll": [8, 16],
}
"""Larger tiles and parts, of which many ask too much of a GPU."""


def space(device: Device) -> dict[str, list[int]]:
    return GPU_SPACE if device.shared else CPU_SPACE


TUNE = space


@tt.kernel
def gemm_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tiling: tt.Constexpr[Tiling]) -> None:
    m, n, k, stages = tiling.m, tiling.n, tiling.k, tiling.stages
    thread, _, _ = cute.arch.thread_idx()
    block_column, block_row, _ = cute.arch.block_idx()
    smem = cute.SmemAllocator()
    tile_a = smem.allocate_tensor(tt.Float32, cute.make_layout((k, m, stages), stride=(m, 1, m * k)))
    tile_b = smem.allocate_tensor(tt.Float32, cute.make_layout((k, n, stages), stride=(n, 1, n * k)))
    part_a, part_b = cute.local_tile(a, (m, k), (block_row, None)), cute.local_tile(b, (k, n), (None, block_column))

    def fetch(step: Any, stage: Any) -> None:
        for i in tt.range_constexpr(m * k // tiling.threads):
            at = thread + i * tiling.threads
            tile_a[at % k, at // k, stage] = part_a[at // k, at % k, step]
        for i in tt.range_constexpr(n * k // tiling.threads):
            at = thread + i * tiling.threads
            tile_b[at // n, at % n, stage] = part_b[at // n, at % n, step]

    row, column = thread // (n // tiling.columns) * tiling.rows, thread % (n // tiling.columns)
    sums = cute.make_rmem_tensor((tiling.rows, tiling.columns), tt.Float32)
    sums.fill(0.0)
    steps = a.shape[1] // k
    for step in tt.range_constexpr(stages - 1):
        fetch(step, step)
    for step in range(steps):
        stage = step % stages
        if tt.const_expr(stages > 1):
            cute.arch.sync_threads()
            if step + stages - 1 < steps:
                fetch(step + stages - 1, (step + stages - 1) % stages)
        else:
            fetch(step, 0)
            cute.arch.sync_threads()
        for at in tt.range(k, unroll=tiling.unroll):
            for i in tt.range_constexpr(tiling.rows):
                for j in tt.range_constexpr(tiling.columns):
                    x, y = tile_a[at, row + i, stage], tile_b[at, column + j * (n // tiling.columns), stage]
                    sums[i, j] += x * y
        if tt.const_expr(stages == 1):
            cute.arch.sync_threads()
    part_c = cute.local_tile(c, (m, n), (block_row, block_column))
    for i in tt.range_constexpr(tiling.rows):
        for j in tt.range_constexpr(tiling.columns):
            part_c[row + i, column + j * (n // tiling.columns)] = sums[i, j]


@tt.jit
def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tiling: tt.Constexpr[Tiling]) -> None:
    grid = c.shape[1] // tiling.n, c.shape[0] // tiling.m
    gemm_kernel(a, b, c, tiling).launch(grid=grid, block=tiling.threads)


def kernel_fn(a: np.ndarray, b: np.ndarray, **chosen: int) -> np.ndarray:
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)
    gemm(a, b, c, Tiling(**chosen))
    return c


def compile_job(a: np.ndarray, b: np.ndarray, **chosen: int) -> Any:
    return partial(tt.compile, gemm, a, b, np.empty((a.shape[0], b.shape[1]), a.dtype), Tiling(**chosen))


def config_problems(device: Device, **chosen: int) -> list[str]:
    """Threads, shared memory and the registers of the sums follow from the parameters alone."""
    tiling = Tiling(**chosen)
    m, n, k, threads = tiling.m, tiling.n, tiling.k, tiling.threads
    return [
        *thread_problems(device, threads),
        *shared_problems(device, tiling.stages, (m, k, 32), (n, k, 32)),
        *register_problems(device, threads, tiling.rows * tiling.columns),
        *multiple_problems(a=(m * k, threads), b=(n * k, threads)),
    ]


def reference_fn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(a @ b)


def get_inputs(m: int = 256, n: int = 256, k: int = 256, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.standard_normal((m, k), np.float32), random.standard_normal((k, n), np.float32)]


workbench.main(__name__)
