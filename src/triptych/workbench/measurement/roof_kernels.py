"""Roofline kernels, each as fast as the machine can: read memory, and multiply and add. `roofs` times them."""

from __future__ import annotations

import triptych as tt
from triptych import cute

THREADS = 128
READERS, EACH = 32, 16
"""Of streams: few threads that take many numbers each."""
CHAINS = 8
STEPS = 4096


@tt.kernel
def read_kernel(x: cute.Tensor, sums: cute.Tensor, repeats: tt.Int32) -> None:
    """A block reads its row again and again; what it adds up is written, so that it has to."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    total = tt.Float32(0.0)
    for _ in range(repeats):
        for i in range(thread, x.shape[1], 4 * THREADS):
            total += (x[block, i] + x[block, i + THREADS]) + (x[block, i + 2 * THREADS] + x[block, i + 3 * THREADS])
    sums[block, thread] = total


@tt.jit
def read_rows(x: cute.Tensor, sums: cute.Tensor, repeats: tt.Int32) -> None:
    """Every block reads its row so often: the fastest for caches."""
    read_kernel(x, sums, repeats).launch(grid=x.shape[0], block=THREADS)


@tt.kernel
def stream_kernel(x: cute.Tensor, sums: cute.Tensor) -> None:
    """A block reads its row once."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    total = tt.Float32(0.0)
    for i in range(thread, x.shape[1], READERS * EACH):
        part = tt.Float32(0.0)
        for j in tt.range_constexpr(EACH):
            part = part + x[block, i + j * READERS]
        total += part
    sums[block, thread] = total


@tt.jit
def stream_rows(x: cute.Tensor, sums: cute.Tensor) -> None:
    """Many short rows, each read once by few threads: the fastest for memory."""
    stream_kernel(x, sums).launch(grid=x.shape[0], block=READERS)


@tt.kernel
def multiply_add_kernel(x: cute.Tensor) -> None:
    """Chains of multiply-adds that depend on nothing but themselves."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    f = x[block, thread]
    a, b, c, d = f, f + 1, f + 2, f + 3
    p, q, r, s = f + 4, f + 5, f + 6, f + 7
    for _ in range(STEPS):
        a, b, c, d = a * f + f, b * f + f, c * f + f, d * f + f
        p, q, r, s = p * f + f, q * f + f, r * f + f, s * f + f
    x[block, thread] = ((a + b) + (c + d)) + ((p + q) + (r + s))


@tt.jit
def multiply_adds(x: cute.Tensor) -> None:
    """A row for each block."""
    multiply_add_kernel(x).launch(grid=x.shape[0], block=THREADS)
