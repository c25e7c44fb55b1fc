"""Sums of 4096 numbers per block: a tree in shared memory, and shuffles inside the warps."""

from __future__ import annotations

import triptych as tt
from triptych import cute

THREADS = 256
EACH = 16
"""Numbers that a thread adds before the block meets."""
CHUNK = THREADS * EACH
WARP = 32


@tt.kernel
def sum_by_tree(x: cute.Tensor, sums: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    partial = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(THREADS), 16)
    total = tt.Float32(0.0)
    for i in range(EACH):
        total += x[block * CHUNK + i * THREADS + thread]
    partial[thread] = total
    cute.arch.sync_threads()
    half = tt.Int32(THREADS // 2)
    while half > 0:
        if thread < half:
            partial[thread] = partial[thread] + partial[thread + half]
        cute.arch.sync_threads()
        half = half // 2
    if thread == 0:
        sums[block] = partial[0]


@tt.jit
def block_reduction(x: cute.Tensor, sums: cute.Tensor, n: tt.Int32) -> None:
    sum_by_tree(x, sums).launch(grid=n // CHUNK, block=THREADS)


@tt.kernel
def sum_by_shuffles(x: cute.Tensor, sums: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    partial = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(THREADS // WARP), 16)
    total = tt.Float32(0.0)
    for i in range(EACH):
        total += x[block * CHUNK + i * THREADS + thread]
    for power in tt.range_constexpr(5):
        total += cute.arch.shuffle_sync_bfly(total, offset=1 << power)
    if thread % WARP == 0:
        partial[thread // WARP] = total
    cute.arch.sync_threads()
    if thread == 0:
        total = tt.Float32(0.0)
        for warp in tt.range_constexpr(THREADS // WARP):
            total += partial[warp]
        sums[block] = total


@tt.jit
def shuffle_reduction(x: cute.Tensor, sums: cute.Tensor, n: tt.Int32) -> None:
    sum_by_shuffles(x, sums).launch(grid=n // CHUNK, block=THREADS)
