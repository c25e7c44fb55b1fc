"""What the checkers of shared memory do not check, they say: many mbarriers, and large clusters."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.sanitizer.finding_errors import CheckerLimitError, RaceError
from triptych.support.config import override
from triptych.support.errors import TriptychWarning
from triptych.targets.cpu.sanitizer import shadow_layout as at


@tt.kernel
def many(out: cute.Tensor, n: tt.Constexpr[int]) -> None:
    t, _, _ = cute.arch.thread_idx()
    bars = cute.arch.alloc_smem(tt.Int64, n)
    for i in range(t, n, 32):
        cute.arch.mbarrier_init(bars + i, 32)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    for i in range(n):
        cute.arch.mbarrier_arrive(bars + i)
        cute.arch.mbarrier_wait(bars + i, 0)
    out[t] = t


@tt.jit
def launch_many(out: cute.Tensor, n: tt.Constexpr[int]) -> None:
    many(out, n).launch(grid=1, block=32)


def test_as_many_mbarriers_as_the_guide_says() -> None:
    out = np.zeros(32, np.int32)
    with override(debug="races,init", cache=False):
        for count in (129, at.MOST_PHASES):
            launch_many(out, count)
        with pytest.raises(CheckerLimitError, match=f"more than {at.MOST_PHASES} mbarriers") as told:
            launch_many(out, at.MOST_PHASES + 1)
    assert "TT0632" in str(told.value)
    assert out.tolist() == list(range(32))


@tt.kernel
def exchange(out: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    threads, _, _ = cute.arch.block_dim()
    shared = cute.make_tensor(cute.arch.alloc_smem(tt.Int32, 160), cute.make_layout(160))
    shared[t] = t
    out[rank, t] = shared[threads - 1 - t]  # a barrier is missing
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@tt.jit
def launch_exchange(out: cute.Tensor, blocks: tt.Constexpr[int], threads: tt.Constexpr[int]) -> None:
    exchange(out).launch(grid=blocks, block=threads, cluster=(blocks, 1, 1))


@pytest.mark.parametrize(
    ("blocks", "threads", "is_checked"),
    [(9, 64, True), (16, 64, True), (8, 128, True), (8, 160, False), (16, 96, False), (2, 40, False)],
)
def test_every_cluster_is_checked_or_named(blocks: int, threads: int, is_checked: bool) -> None:
    out = np.zeros((blocks, threads), np.int32)
    with override(debug="races", cache=False), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if is_checked:
            with pytest.raises(RaceError):
                launch_exchange(out, blocks, threads)
        else:
            launch_exchange(out, blocks, threads)
    texts = [str(each.message) for each in said if each.category is TriptychWarning]
    assert any("not exchange" in text for text in texts) != is_checked
