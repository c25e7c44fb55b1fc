"""Barriers that not all threads come to, and threads that wait for what never happens."""

from __future__ import annotations

from typing import Any

import numpy as np

import triptych as tt
from tests.integration.faults.fault import Fault
from triptych import cute
from triptych.diagnostics.kernel_errors import DeadlockError, DivergentBarrierError


@tt.kernel
def some_threads_of_a_warp(a: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread < 70:
        cute.arch.sync_threads()
    a[thread] = 1


@tt.kernel
def some_threads_by_data(a: cute.Tensor) -> None:
    x, y, z = cute.arch.thread_idx()
    if a[x + 8 * (y + 4 * z)] < 45:
        cute.arch.sync_threads()  # by data
    a[x] = 1


@tt.kernel
def some_iterations(a: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    for _ in range(thread // 16):
        a[thread] = a[thread] + 1
        cute.arch.sync_threads()  # in a loop


@tt.kernel
def two_barriers_in_a_warp(a: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread < 16:
        cute.arch.sync_threads()  # first half
    else:
        cute.arch.sync_threads()
    a[thread] = 1


@tt.kernel
def two_barriers_of_a_block(a: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if cute.arch.warp_idx() < 2:
        cute.arch.sync_threads()
    else:
        cute.arch.sync_threads()  # last warp
    a[thread] = 1


@tt.kernel
def one_barrier_more(a: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if cute.arch.warp_idx() == 0:
        cute.arch.sync_threads()
    a[thread] = 1
    cute.arch.sync_threads()  # for all


@tt.kernel
def some_warps(a: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if cute.arch.warp_idx() < 2:
        cute.arch.sync_threads()  # two warps
    a[thread] = 1


@tt.kernel
def too_few_at_a_named_barrier(a: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if cute.arch.warp_idx() == 1:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)  # one warp
    a[thread] = 1


@tt.kernel
def crossed_barriers(a: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if cute.arch.warp_idx() == 0:
        cute.arch.barrier(barrier_id=1, number_of_threads=96)  # first one
        cute.arch.barrier(barrier_id=2, number_of_threads=96)
    else:
        cute.arch.barrier(barrier_id=2, number_of_threads=96)
        cute.arch.barrier(barrier_id=1, number_of_threads=96)
    a[thread] = 1


@tt.kernel
def flag_that_nobody_sets(a: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    flag = cute.SmemAllocator().allocate_tensor(tt.Int32, cute.make_layout(1))
    flag[0] = 0
    cute.arch.sync_threads()
    if cute.arch.warp_idx() == 2:
        while flag[0] == 0:
            pass
    a[thread] = 1


@tt.jit
def launch(kernel: tt.Constexpr[Any], a: Any, block: tt.Constexpr[Any]) -> None:
    kernel(a).launch(grid=1, block=block)


def fault(kernel: Any, error: Any, line: str, thread: tuple[int, int, int], block: Any = 96) -> Fault:
    def call() -> None:
        launch(kernel, np.arange(96, dtype=np.int32), block)

    call.__name__ = kernel.__name__
    return Fault(call, error, line, (0, 0, 0), thread)


FAULTS = [
    fault(some_threads_of_a_warp, DivergentBarrierError, "sync_threads()", (70, 0, 0)),
    fault(some_threads_by_data, DivergentBarrierError, "# by data", (5, 1, 1), (8, 4, 3)),
    fault(some_iterations, DivergentBarrierError, "# in a loop", (0, 0, 0)),
    fault(two_barriers_in_a_warp, DivergentBarrierError, "# first half", (16, 0, 0)),
    fault(two_barriers_of_a_block, DivergentBarrierError, "# last warp", (64, 0, 0)),
    fault(one_barrier_more, DivergentBarrierError, "# for all", (32, 0, 0)),
    fault(some_warps, DivergentBarrierError, "# two warps", (64, 0, 0)),
    fault(too_few_at_a_named_barrier, DeadlockError, "# one warp", (32, 0, 0)),
    fault(crossed_barriers, DeadlockError, "# first one", (0, 0, 0)),
    fault(flag_that_nobody_sets, DeadlockError, "while flag[0] == 0", (64, 0, 0)),
]
