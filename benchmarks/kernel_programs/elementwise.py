"""One element per thread: vector add and saxpy."""

from __future__ import annotations

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


@tt.kernel
def scale_and_add(factor: tt.Float32, x: cute.Tensor, y: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < n:
        y[i] = factor * x[i] + y[i]


@tt.jit
def saxpy(factor: tt.Float32, x: cute.Tensor, y: cute.Tensor, n: tt.Int32) -> None:
    scale_and_add(factor, x, y, n).launch(grid=(n + THREADS - 1) // THREADS, block=THREADS)
