"""Run by `benchmarks.cold_start` in a fresh process: a script with one kernel, as a user writes it."""

from __future__ import annotations

import time

import numpy as np

import triptych as tt
from triptych import cute

THREADS = 256


@tt.kernel
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < n:
        c[i] = a[i] + b[i]


@tt.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: tt.Int32) -> None:
    add(a, b, c, n).launch(grid=(n + THREADS - 1) // THREADS, block=THREADS)


numbers = np.arange(10_000, dtype=np.float32)
result = np.zeros_like(numbers)
vector_add(numbers, numbers, result, numbers.size)
done = time.time()
assert (result == 2 * numbers).all()
print(done, time.process_time())
