"""The sum of an array, with shared memory and barriers.

Threads of a block cannot see each other's variables. They share memory, and `sync_threads` makes everybody wait until
all have written. A tree then halves the number of sums in every step: 256, 128, ... 1. Every block leaves one partial
sum; a second launch of the same kernel adds those up.
"""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute, workbench

THREADS = 256
PER_BLOCK = 16 * THREADS
"""Elements that a block adds up: each thread starts with the sum of sixteen."""


@tt.kernel
def sum_of_block(x: cute.Tensor, n: tt.Int32, sums: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(THREADS))

    total = tt.Float32(0.0)
    for step in range(PER_BLOCK // THREADS):
        i = block * PER_BLOCK + step * THREADS + thread  # neighbours read neighbours
        if i < n:
            total += x[i]
    shared[thread] = total
    cute.arch.sync_threads()

    half = THREADS // 2
    while half > 0:  # `half` is a Python number, so Python unrolls this loop while tracing
        if thread < half:
            shared[thread] = shared[thread] + shared[thread + half]
        cute.arch.sync_threads()  # outside of the `if`: all threads of a block must come here
        half //= 2
    if thread == 0:
        sums[block] = shared[0]


@tt.jit
def sum_kernel_twice(x: cute.Tensor, sums: cute.Tensor, total: cute.Tensor) -> None:
    """Launches run one after the other, so the second sees what the first has written."""
    n, blocks = cute.size(x), cute.size(sums)
    sum_of_block(x, n, sums).launch(grid=blocks, block=THREADS)
    sum_of_block(sums, blocks, total).launch(grid=1, block=THREADS)


def sum_of(x: np.ndarray) -> np.ndarray:
    blocks = max(1, -(-x.size // PER_BLOCK))
    if blocks > PER_BLOCK:
        raise ValueError(f"two launches add up at most {PER_BLOCK**2} elements")
    sums, total = np.empty(blocks, np.float32), np.empty(1, np.float32)
    sum_kernel_twice(x, sums, total)
    return total


CASES = {
    **{f"{n}": {"n": n} for n in (1, 255, 4096, 4097)},
    "large": {"n": 1 << 20, "bench": True},
}


def kernel_fn(x: np.ndarray) -> np.ndarray:
    return sum_of(x).reshape(())


def reference_fn(x: np.ndarray) -> np.ndarray:
    return np.asarray(x.sum())


baseline_fn = reference_fn


def get_inputs(n: int = 10_000, seed: int = 0) -> list[np.ndarray]:
    return [np.random.default_rng(seed).random(n, np.float32)]


def algorithmic_flops_bytes(x: np.ndarray) -> tuple[int, int]:
    return x.size, x.nbytes


workbench.main(__name__)
