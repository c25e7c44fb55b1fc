"""Threads that wait for some others: barriers of warps, named barriers, and flags that a warp spins on."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import SEEDS, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.block_sharing import shared
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from triptych import cute


@tt.kernel
def pipeline_kernel(x: cute.Tensor, out: cute.Tensor, consumers: tt.Constexpr[int]) -> None:
    """The first warp brings tiles, the others sum them up; two named barriers for full and empty."""
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.warp_idx()
    everyone = 32 * (consumers + 1)
    tile = shared(tt.Int32, 32)
    rounds = x.shape[0]
    if warp == 0:
        for i in range(rounds):
            tile[thread] = x[i, thread]
            cute.arch.barrier(barrier_id=1, number_of_threads=everyone)
            cute.arch.barrier(barrier_id=2, number_of_threads=everyone)
    else:
        total = tt.Int32(0)
        for _ in range(rounds):
            cute.arch.barrier(barrier_id=1, number_of_threads=everyone)
            total += tile[(thread + warp) % 32] * warp
            cute.arch.barrier(barrier_id=2, number_of_threads=everyone)
        out[thread - 32] = total


@tt.jit
def pipeline(x: cute.Tensor, out: cute.Tensor, consumers: tt.Constexpr[int]) -> None:
    pipeline_kernel(x, out, consumers).launch(grid=1, block=32 * (consumers + 1))


@case(8, rounds=st.integers(0, 30), consumers=st.sampled_from([1, 2, 5]), seed=SEEDS)
def warps_at_named_barriers(rounds: int, consumers: int, seed: int) -> None:
    x = whole(seed, (rounds, 32), np.int32, 100)
    threads = np.arange(32, 32 * (consumers + 1))
    with output(len(threads), np.int32) as out:
        pipeline(x, out, consumers)
        same(out, x.sum(0)[(threads + threads // 32) % 32] * (threads // 32))


@tt.kernel
def flags_kernel(x: cute.Tensor, out: cute.Tensor, rounds: tt.Int32) -> None:
    """A warp fills a place and raises a flag, the other spins on it, takes the numbers and lowers it."""
    warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
    block, _, _ = cute.arch.block_idx()
    place = shared(tt.Int32, 32)
    flag = shared(tt.Int32, 1)
    if warp == 0 and lane == 0:
        flag[0] = 0
    cute.arch.sync_threads()
    if warp == 0:
        for i in range(rounds):
            while cute.arch.atomic_add(flag.iterator, 0) != 0:
                cute.arch.nanosleep(10)
            place[lane] = x[block, i * 32 + lane]
            cute.arch.fence_acq_rel_cta()
            cute.arch.sync_warp()
            if lane == 0:
                cute.arch.atomic_exch(flag.iterator, 1)
            cute.arch.sync_warp()
    else:
        total = tt.Int32(0)
        for _ in range(rounds):
            while cute.arch.atomic_add(flag.iterator, 0) != 1:
                cute.arch.nanosleep(10)
            total = total * 3 + place[31 - lane]
            cute.arch.fence_acq_rel_cta()
            cute.arch.sync_warp()
            if lane == 0:
                cute.arch.atomic_exch(flag.iterator, 0)
            cute.arch.sync_warp()
        out[block, lane] = total


@tt.jit
def flags(x: cute.Tensor, out: cute.Tensor, rounds: tt.Int32) -> None:
    flags_kernel(x, out, rounds).launch(grid=x.shape[0], block=64)


def _thirds(parts: Any) -> Any:
    total = np.zeros((parts.shape[0], 32), np.int32)
    for i in range(parts.shape[1]):
        total = total * 3 + parts[:, i, ::-1]
    return total


@case(6, blocks=st.integers(1, 5), rounds=st.integers(1, 12), seed=SEEDS)
def warps_that_spin_on_a_flag(blocks: int, rounds: int, seed: int) -> None:
    x = whole(seed, (blocks, 32 * rounds), np.int32, 100)
    with output((blocks, 32), np.int32) as out:
        flags(x, out, rounds)
        same(out, _thirds(x.reshape(blocks, rounds, 32)))


@tt.kernel
def warp_sums_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    """Every warp sums a row of shared memory by itself; only the warp waits."""
    thread, _, _ = cute.arch.thread_idx()
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    rows = shared(tt.Int32, (32, 32))
    rows[lane, warp] = x[thread]
    cute.arch.sync_warp()
    distance = tt.Int32(16)
    while distance > 0:
        if lane < distance:
            rows[lane, warp] = rows[lane, warp] + rows[lane + distance, warp]
        cute.arch.sync_warp()
        distance //= 2
    out[thread] = rows[0, warp]


@tt.jit
def warp_sums(x: cute.Tensor, out: cute.Tensor) -> None:
    warp_sums_kernel(x, out).launch(grid=1, block=cute.size(x))


@case(6, warps=st.integers(1, 32), seed=SEEDS)
def lanes_at_the_barrier_of_their_warp(warps: int, seed: int) -> None:
    x = whole(seed, 32 * warps, np.int32, 100)
    with output(32 * warps, np.int32) as out:
        warp_sums(x, out)
        same(out, x.reshape(-1, 32).sum(1).repeat(32))
