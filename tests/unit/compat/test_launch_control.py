"""Cluster launch control: grids, every tile once by one cluster or another, and orders of asynchronous operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from triptych import cute, pipeline
from triptych.cute.runtime import from_dlpack
from triptych.support.config import override
from triptych.utils import (
    ClcDynamicPersistentTileScheduler,
    ClcDynamicPersistentTileSchedulerParams,
    TensorMapUpdateMode,
)

small = st.integers(1, 9)
WARPS = 2
BYTES = 16


@given(st.tuples(small, small, small), st.tuples(st.integers(1, 4), st.integers(1, 4)))
def test_the_grid_has_a_cluster_for_each_tile(tiles: tuple[int, int, int], cluster: tuple[int, int]) -> None:
    params = ClcDynamicPersistentTileSchedulerParams(tiles, (*cluster, 1))
    grid = ClcDynamicPersistentTileScheduler.get_grid_shape(params)
    assert [extent % blocks for extent, blocks in zip(grid, (*cluster, 1), strict=True)] == [0, 0, 0]
    assert all(0 <= extent - count < blocks for extent, count, blocks in zip(grid, tiles, (*cluster, 1), strict=True))


def test_maps_are_updated_in_two_memories() -> None:
    assert {mode.name for mode in TensorMapUpdateMode} == {"GMEM", "SMEM"}


@tt.kernel
def visit_kernel(visits: cute.Tensor, begun: cute.Tensor, params: Any, blocks: cute.Layout) -> None:
    """The last warp of the first block asks; the first warp of every block counts its tiles."""
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    smem = cute.SmemAllocator()
    response = smem.allocate_array(tt.Int32, 4, 16)
    barriers = smem.allocate_array(tt.Int64, 2)
    one, readers = (
        pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, 32 * (1 + cute.size(blocks)))
    )
    answers = pipeline.PipelineClcFetchAsync.create(
        num_stages=1,
        producer_group=one,
        consumer_group=readers,
        tx_count=BYTES,
        barrier_storage=barriers,
        cta_layout_vmnk=blocks,
    )
    tiles = ClcDynamicPersistentTileScheduler.create(params, cute.arch.block_idx(), cute.arch.grid_dim(), response)
    work = tiles.initial_work_tile_info()
    reading = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1)
    asking = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1)
    if thread == 0:
        x, y, z = cute.arch.block_idx()
        begun[x, y, z] = begun[x, y, z] + 1
    if warp == 0 or (warp == WARPS - 1 and rank == 0):
        while work.is_valid_tile:
            if warp == WARPS - 1:
                answers.producer_acquire(asking)
                tiles.advance_to_next_work(answers.producer_get_barrier(asking))
                asking.advance()
            elif thread == 0:
                m, n, layer = work.tile_idx
                visits[m, n, layer] = visits[m, n, layer] + 1
            answers.consumer_wait(reading)
            work = tiles.get_current_work()
            answers.consumer_release(reading)
            reading.advance()
        if warp == WARPS - 1:
            answers.producer_tail(asking)
    if tt.const_expr(cute.size(blocks) > 1):
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()


@tt.jit
def visit(visits: cute.Tensor, begun: cute.Tensor, params: tt.Constexpr[Any]) -> None:
    cluster = params.cluster_shape_mnk
    blocks = cute.make_layout((1, *cluster))
    grid = ClcDynamicPersistentTileScheduler.get_grid_shape(params)
    visit_kernel(visits, begun, params, blocks).launch(grid=grid, block=32 * WARPS, cluster=cluster)


@pytest.mark.parametrize("cluster", [(1, 1, 1), (2, 1, 1), (2, 2, 1)])
@pytest.mark.parametrize("order", ["early", "late", "seed:3"])
@pytest.mark.parametrize(("swizzle", "along_m"), [(1, True), (2, False)])
def test_every_tile_is_visited_once(cluster: tuple[int, int, int], order: str, swizzle: int, along_m: bool) -> None:
    params = ClcDynamicPersistentTileSchedulerParams((4, 6, 3), cluster, swizzle, along_m)
    visits, begun = np.zeros((4, 6, 3), np.int32), np.zeros((4, 6, 3), np.int32)
    with override(async_=order):
        visit(from_dlpack(visits), from_dlpack(begun), params)
    np.testing.assert_array_equal(visits, 1)
    count = int(begun.sum())
    assert begun.max() == 1
    assert count < visits.size, "clusters were taken, which then never began"
    assert count % (cluster[0] * cluster[1]) == 0


def test_one_tile() -> None:
    params = ClcDynamicPersistentTileSchedulerParams((1, 1, 1), (1, 1, 1))
    visits, begun = np.zeros((1, 1, 1), np.int32), np.zeros((1, 1, 1), np.int32)
    visit(from_dlpack(visits), from_dlpack(begun), params)
    assert (visits.item(), begun.item()) == (1, 1)
