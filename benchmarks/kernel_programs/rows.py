"""One block per row: softmax and RMSNorm, whose threads meet in shared memory."""

from __future__ import annotations

import triptych as tt
from triptych import cute

THREADS = 256
LOWEST = -3.0e38
EPSILON = 1e-5


@tt.kernel
def softmax_row(x: cute.Tensor, y: cute.Tensor, columns: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    partial = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(THREADS), 16)
    largest = tt.Float32(LOWEST)
    for i in range(thread, columns, THREADS):
        largest = cute.arch.fmax(largest, x[row, i])
    partial[thread] = largest
    cute.arch.sync_threads()
    for power in tt.range_constexpr(8):
        half = THREADS >> (power + 1)
        if thread < half:
            partial[thread] = cute.arch.fmax(partial[thread], partial[thread + half])
        cute.arch.sync_threads()
    largest = partial[0]
    cute.arch.sync_threads()
    total = tt.Float32(0.0)
    for i in range(thread, columns, THREADS):
        power_of_e = cute.math.exp(x[row, i] - largest)
        y[row, i] = power_of_e
        total += power_of_e
    partial[thread] = total
    cute.arch.sync_threads()
    for power in tt.range_constexpr(8):
        half = THREADS >> (power + 1)
        if thread < half:
            partial[thread] = partial[thread] + partial[thread + half]
        cute.arch.sync_threads()
    scale = 1.0 / partial[0]
    for i in range(thread, columns, THREADS):
        y[row, i] = y[row, i] * scale


@tt.jit
def softmax(x: cute.Tensor, y: cute.Tensor, rows: tt.Int32, columns: tt.Int32) -> None:
    softmax_row(x, y, columns).launch(grid=rows, block=THREADS)


@tt.kernel
def rms_norm_row(x: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, columns: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    partial = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(THREADS), 16)
    total = tt.Float32(0.0)
    for i in range(thread, columns, THREADS):
        total += x[row, i] * x[row, i]
    partial[thread] = total
    cute.arch.sync_threads()
    for power in tt.range_constexpr(8):
        half = THREADS >> (power + 1)
        if thread < half:
            partial[thread] = partial[thread] + partial[thread + half]
        cute.arch.sync_threads()
    scale = 1.0 / cute.math.sqrt(partial[0] / columns + EPSILON)
    for i in range(thread, columns, THREADS):
        y[row, i] = x[row, i] * scale * weight[i]


@tt.jit
def rms_norm(x: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, rows: tt.Int32, columns: tt.Int32) -> None:
    rms_norm_row(x, weight, y, columns).launch(grid=rows, block=THREADS)
