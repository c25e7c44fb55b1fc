"""b = a.T with six parameters to choose from: a space that `benchmarks.tuning` searches.

A block moves a tile of `m` x `n` through shared memory, with `threads` threads of which each moves `vector` neighbours
at a time. The tile lies plain, with rows that are one element longer, or permuted; neighbouring blocks follow the rows
of `a` or those of `b`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute, workbench
from triptych.workbench.devices import Device
from triptych.workbench.tiling import multiple_problems


@dataclass(frozen=True)
class Tiling:
    """A block's tile and threads, how the tile lies, and in which order blocks go."""

    m: int = 32
    n: int = 32
    threads: int = 256
    vector: int = 1
    lies: str = "plain"
    along: str = "a"

    @property
    def layout(self) -> Any:
        if self.lies == "padded":
            return cute.make_layout((self.m, self.n), stride=(self.n + 1, 1))
        plain = cute.make_layout((self.m, self.n), stride=(self.n, 1))
        bits = self.n.bit_length() - 1
        return cute.make_composed_layout(cute.make_swizzle(4, 0, bits), 0, plain) if self.lies == "swizzled" else plain


TUNE = {
    "m": [16, 32, 64],
    "n": [16, 32, 64],
    "threads": [64, 256],
    "vector": [1, 4],
    "lies": ["plain", "padded", "swizzled"],
    "along": ["a", "b"],
}


@tt.kernel
def transpose_tile(a: cute.Tensor, b: cute.Tensor, tiling: tt.Constexpr[Tiling]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    fast, slow, _ = cute.arch.block_idx()
    m, n, vector, step = tiling.m, tiling.n, tiling.vector, tiling.threads * tiling.vector
    where = (slow, fast) if tiling.along == "a" else (fast, slow)
    part_a, part_b = cute.local_tile(a, (m, n), where), cute.local_tile(b, (n, m), (where[1], where[0]))
    tile = cute.SmemAllocator().allocate_tensor(a.element_type, tiling.layout)
    for i in tt.range_constexpr(m * n // step):
        for j in tt.range_constexpr(vector):
            at = i * step + thread * vector + j
            tile[at // n, at % n] = part_a[at // n, at % n]
    cute.arch.sync_threads()
    for i in tt.range_constexpr(m * n // step):
        for j in tt.range_constexpr(vector):
            at = i * step + thread * vector + j
            part_b[at // m, at % m] = tile[at % m, at // m]


@tt.jit
def transpose(a: cute.Tensor, b: cute.Tensor, tiling: tt.Constexpr[Tiling]) -> None:
    down, across = a.shape[0] // tiling.m, a.shape[1] // tiling.n
    grid = (across, down) if tiling.along == "a" else (down, across)
    transpose_tile(a, b, tiling).launch(grid=grid, block=tiling.threads)


def kernel_fn(a: np.ndarray, **chosen: Any) -> np.ndarray:
    b = np.empty(a.shape[::-1], a.dtype)
    transpose(a, b, Tiling(**chosen))
    return b


def compile_job(a: np.ndarray, **chosen: Any) -> Any:
    return partial(tt.compile, transpose, a, np.empty(a.shape[::-1], a.dtype), Tiling(**chosen))


def config_problems(device: Device, **chosen: Any) -> list[str]:
    tiling = Tiling(**chosen)
    return list(multiple_problems(tile=(tiling.m * tiling.n, tiling.threads * tiling.vector)))


def reference_fn(a: np.ndarray) -> np.ndarray:
    return a.T.copy()


def get_inputs(seed: int = 0) -> list[np.ndarray]:
    """Extents are multiples of every tile, so they are no parameters."""
    return [np.random.default_rng(seed).standard_normal((512, 512), np.float32)]


workbench.main(__name__)
