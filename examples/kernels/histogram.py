"""How often each byte occurs: atomics, because many threads count in the same place.

`bins[b] = bins[b] + 1` from two threads at once may count one of them. `atomic_add` counts both, in memory that all
blocks share, or in the shared memory of a block, where only the threads of the block can be in each other's way. The
second way counts most in shared memory and adds up 256 numbers for each block at the end.
"""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute, workbench

THREADS = 256
BINS = 256
PER_THREAD = 64


@tt.kernel
def count_globally(data: cute.Tensor, bins: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    first = block * THREADS * PER_THREAD + thread
    for step in range(PER_THREAD):
        i = first + step * THREADS
        if i < cute.size(data):
            cute.arch.atomic_add(bins.iterator + tt.Int32(data[i]), 1)


@tt.kernel
def count_in_blocks(data: cute.Tensor, bins: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mine = cute.SmemAllocator().allocate_tensor(tt.Int32, cute.make_layout(BINS))
    mine[thread] = 0  # as many threads as bins: each clears one, and adds it up in the end
    cute.arch.sync_threads()
    first = block * THREADS * PER_THREAD + thread
    for step in range(PER_THREAD):
        i = first + step * THREADS
        if i < cute.size(data):
            cute.arch.atomic_add(mine.iterator + tt.Int32(data[i]), 1)
    cute.arch.sync_threads()
    if mine[thread] > 0:
        cute.arch.atomic_add(bins.iterator + thread, mine[thread])


@tt.jit
def histogram(data: cute.Tensor, bins: cute.Tensor, kernel: tt.Constexpr) -> None:
    """Add the counts of `data` to `bins`. A kernel may be a `Constexpr` as any function."""
    kernel(data, bins).launch(grid=cute.ceil_div(cute.size(data), THREADS * PER_THREAD), block=THREADS)


KERNELS = {"global atomics": count_globally, "atomics in shared memory": count_in_blocks}


CASES = {
    **{
        f"{name}, {n} bytes, {'all the same' if spread == 1 else 'random'}": {"name": name, "n": n, "spread": spread}
        for name in KERNELS
        for n in (1, 1000, 16_384)
        for spread in (1, 256)
    },
    **{name: {"name": name, "n": 1 << 20, "bench": True} for name in KERNELS},
}


def kernel_fn(data: np.ndarray, name: str) -> np.ndarray:
    bins = np.zeros(BINS, np.int32)
    histogram(data, bins, KERNELS[name])
    return bins


def reference_fn(data: np.ndarray, name: str) -> np.ndarray:
    return np.bincount(data, minlength=BINS).astype(np.int32)


baseline_fn = reference_fn


def get_inputs(n: int = 100_001, spread: int = 256, name: str = next(iter(KERNELS)), seed: int = 0) -> list[object]:
    random = np.random.default_rng(seed)
    return [(random.integers(0, 256) + random.integers(0, spread, n)).astype(np.uint8), name]


def algorithmic_flops_bytes(data: np.ndarray, name: str) -> tuple[int, int]:
    return data.size, data.nbytes


workbench.main(__name__)
