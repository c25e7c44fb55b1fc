"""Mbarriers in kernels: producers and consumers, loops that ask, threads with barriers of their own, and mistakes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.kernel_errors import MbarrierError
from triptych.metastage.trace.errors import OperandTypeError

WARP = 32
TURNS = 6


@tt.jit
def launched(kernel: tt.Constexpr[Any], out: cute.Tensor, threads: tt.Constexpr[int]) -> None:
    kernel(out).launch(grid=1, block=threads)


def out_of(kernel: Any, threads: int) -> list[int]:
    out = np.full(threads, -1, np.int32)
    launched(kernel, out, threads)
    return [int(number) for number in out]


def initialised(barriers: Any, *counts: int) -> None:
    if cute.arch.warp_idx() == 0:
        with cute.arch.elect_one():
            for i, count in enumerate(counts):
                cute.arch.mbarrier_init(barriers + i, count)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()


@tt.kernel
def ring(out: cute.Tensor) -> None:
    """Warp 0 fills a buffer, warp 1 empties it, in turns; one waits, the other asks."""
    barriers = cute.arch.alloc_smem(tt.Int64, 2)
    buffer = cute.make_tensor(cute.arch.alloc_smem(tt.Int32, WARP), cute.make_layout(WARP))
    thread, _, _ = cute.arch.thread_idx()
    full, empty = barriers, barriers + 1
    initialised(barriers, WARP, WARP)
    if thread < WARP:
        for i in range(TURNS):
            cute.arch.mbarrier_wait(empty, i & 1 ^ 1)
            buffer[thread] = thread * 100 + i
            cute.arch.mbarrier_arrive(full)
        out[thread] = 0
    else:
        total = tt.Int32(0)
        for i in range(TURNS):
            while not cute.arch.mbarrier_try_wait(full, i & 1):
                pass
            total += buffer[2 * WARP - 1 - thread]
            cute.arch.mbarrier_arrive(empty)
        out[thread] = total


def test_what_is_awaited_is_there() -> None:
    received = [TURNS * 100 * (WARP - 1 - i) + sum(range(TURNS)) for i in range(WARP)]
    assert out_of(ring, 2 * WARP) == [0] * WARP + received


@tt.kernel
def apart(out: cute.Tensor) -> None:
    """Every thread of warp 1 waits for a barrier of its own, which warp 0 opens in two steps."""
    barriers = cute.arch.alloc_smem(tt.Int64, WARP)
    thread, _, _ = cute.arch.thread_idx()
    lane = cute.arch.lane_idx()
    if thread < WARP:
        cute.arch.mbarrier_init(barriers + lane, lane + 1)
    cute.arch.sync_threads()
    if thread < WARP:
        for i in range(WARP):
            if lane >= i:
                cute.arch.mbarrier_arrive(barriers + lane)
        out[thread] = tt.Int32(cute.arch.mbarrier_try_wait(barriers + lane, lane & 1))
    else:
        cute.arch.mbarrier_wait(barriers + lane, 0)
        out[thread] = tt.Int32(cute.arch.mbarrier_conditional_try_wait(lane < 8, barriers + lane, 1))


def test_each_thread_may_have_its_own_barrier() -> None:
    assert out_of(apart, 2 * WARP) == [int(i & 1 == 0) for i in range(WARP)] + [int(i >= 8) for i in range(WARP)]


@tt.kernel
def bytes_under_way(out: cute.Tensor) -> None:
    barrier = cute.arch.alloc_smem(tt.Int64, 1)
    initialised(barrier, 1)
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 64)
    thread, _, _ = cute.arch.thread_idx()
    out[thread] = tt.Int32(cute.arch.mbarrier_try_wait(barrier, 0))
    cute.arch.fence_proxy("async.shared", space="cta")


def test_a_phase_misses_its_bytes() -> None:
    assert out_of(bytes_under_way, WARP) == [0] * WARP


@tt.kernel
def never_initialised(out: cute.Tensor) -> None:
    barrier = cute.arch.alloc_smem(tt.Int64, 1)
    cute.arch.mbarrier_wait(barrier, 0)


@tt.kernel
def too_many(out: cute.Tensor) -> None:
    barrier = cute.arch.alloc_smem(tt.Int64, 1)
    initialised(barrier, WARP // 2)
    cute.arch.mbarrier_arrive(barrier)


@tt.kernel
def too_many_bytes(out: cute.Tensor) -> None:
    barrier = cute.arch.alloc_smem(tt.Int64, 1)
    initialised(barrier, WARP)
    cute.arch.mbarrier_expect_tx(barrier, 1 << 18)


@pytest.mark.parametrize(
    ("kernel", "title"),
    [
        (never_initialised, "an mbarrier that nobody has initialised"),
        (too_many, "more threads arrive at an mbarrier than a phase of it counts"),
        (too_many_bytes, "more bytes under way than an mbarrier can count"),
    ],
)
def test_a_barrier_that_cannot_count_is_an_error_at_its_line(kernel: Any, title: str) -> None:
    with pytest.raises(MbarrierError, match=title) as caught:
        out_of(kernel, WARP)
    assert caught.value.span is not None
    assert caught.value.span.file == __file__


@pytest.mark.parametrize(
    ("act", "title"),
    [
        (lambda smem: cute.arch.mbarrier_init(smem, 0), "an mbarrier counts 1 to 1048575 arrivals"),
        (lambda smem: cute.arch.mbarrier_expect_tx(smem, 1 << 20), "an mbarrier counts at most 1048575 bytes"),
        (lambda smem: cute.arch.mbarrier_wait(smem, 2), "a phase is named by its parity"),
        (lambda _: cute.arch.mbarrier_arrive(cute.make_rmem_tensor(1, tt.Int64).iterator), "eight bytes of shared"),
        (lambda _: cute.arch.mbarrier_arrive(cast(Any, 3)), "eight bytes of shared memory"),
        (lambda _: cute.arch.fence_proxy("sync"), "no such fence between proxies"),
        (lambda _: cute.arch.cp_async_bulk_wait_group(-1), "how many groups may be under way"),
    ],
)
def test_what_no_machine_has_is_refused_while_tracing(act: Any, title: str) -> None:
    @tt.kernel
    def mistaken(out: cute.Tensor) -> None:
        act(cute.arch.alloc_smem(tt.Int64, 1))

    with pytest.raises(OperandTypeError, match=title):
        out_of(mistaken, WARP)
