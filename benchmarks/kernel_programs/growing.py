"""Kernels whose size is an argument: as many operations, or as many steps of work per block, as asked for."""

from __future__ import annotations

import triptych as tt
from triptych import cute

THREADS = 256


@tt.kernel
def compute(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    value = x[thread]
    other = value + 1.0
    for _ in tt.range_constexpr(count // 4):
        value = value * other
        other = other - value
        value = value + other
        other = other * 0.5
    x[thread] = value


@tt.jit
def arithmetic(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    compute(x, count).launch(grid=1, block=THREADS)


@tt.kernel
def exchange(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(THREADS), 16)
    value = x[thread]
    for step in tt.range_constexpr(count // 20):
        shared[thread] = value
        cute.arch.sync_threads()
        if thread < THREADS - 1 - step % 7:
            value = 0.5 * (value + shared[thread + 1 + step % 7])
        cute.arch.sync_threads()
    x[thread] = value


@tt.jit
def barriers_and_branches(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    exchange(x, count).launch(grid=1, block=THREADS)


@tt.kernel
def work(sums: cute.Tensor, steps: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(THREADS), 16)
    value = 1.0 * thread
    for _ in range(steps):
        shared[thread] = value
        cute.arch.sync_threads()
        value = value + shared[THREADS - 1 - thread]
        cute.arch.sync_threads()
    if thread == 0:
        sums[block] = value


@tt.jit
def blocks_of_work(sums: cute.Tensor, steps: tt.Int32, blocks: tt.Int32) -> None:
    work(sums, steps).launch(grid=blocks, block=THREADS)


@tt.kernel
def step_along(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    """Every lane has a row of its own: no access of the warp is one stretch of memory."""
    thread, _, _ = cute.arch.thread_idx()
    for i in tt.range_constexpr(count // 2):
        x[thread * 7 + i] = x[thread * 5 + i] + 1.0


@tt.jit
def strided_accesses(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    step_along(x, count).launch(grid=1, block=THREADS)


@tt.kernel
def part_ways(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    value = x[thread]
    for i in tt.range_constexpr(count):
        if value > 1.0 * i:
            x[thread] = value
            value = value * 0.5
    x[thread] = value


@tt.jit
def branches(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    part_ways(x, count).launch(grid=1, block=THREADS)


@tt.kernel
def meet(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    for i in tt.range_constexpr(count):
        x[thread] = x[(thread + i) % THREADS] + 1.0
        cute.arch.sync_threads()


@tt.jit
def barriers(x: cute.Tensor, count: tt.Constexpr[int]) -> None:
    meet(x, count).launch(grid=1, block=THREADS)
