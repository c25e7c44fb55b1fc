"""A persistent kernel of boxes: each block adds the tiles that its scheduler gives it to zeros, so each comes once."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.ptx.unified import numpy_gpu
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute, pipeline
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack
from triptych.utils import PersistentTileSchedulerParams, StaticPersistentTileScheduler

TILE = 4, 32
STAGES = 2


@tt.kernel
def added(load: cute.CopyAtom, source: cute.Tensor, store: cute.CopyAtom, target: cute.Tensor, params: Any) -> None:
    """One warp loads tiles into stages, another adds them to memory."""
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cute.SmemAllocator()
    barriers = smem.allocate_array(tt.Int64, 2 * STAGES)
    staged = smem.allocate_tensor(tt.Int32, cute.make_layout((*TILE, STAGES), stride=(32, 1, 128)), 1024)
    one = pipeline.CooperativeGroup(pipeline.Agent.Thread)
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES, producer_group=one, consumer_group=one, tx_count=512, barrier_storage=barriers
    )
    tiles = (cute.group_modes(cute.local_tile(each, TILE, (None, None)), 0, 2) for each in (source, target))
    shared = cute.group_modes(staged, 0, 2)
    given, wanted = tiles
    into, given = cpasync.tma_partition(load, 0, cute.make_layout(1), shared, given)
    out_of, wanted = cpasync.tma_partition(store, 0, cute.make_layout(1), shared, wanted)
    scheduler = StaticPersistentTileScheduler.create(params, cute.arch.block_idx(), cute.arch.grid_dim())
    work = scheduler.initial_work_tile_info()
    producer, consumer = pipe.make_participants()
    if warp == 0:
        while work.is_valid_tile:
            m, n, _ = work.tile_idx
            stage = producer.acquire_and_advance()
            cute.copy(load, given[None, m, n], into[None, stage.index], tma_bar_ptr=stage.barrier)
            scheduler.advance_to_next_work()
            work = scheduler.get_current_work()
        producer.tail()
    else:
        while work.is_valid_tile:
            m, n, _ = work.tile_idx
            full = consumer.wait_and_advance()
            cute.copy(store, out_of[None, full.index], wanted[None, m, n])
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=True)
            full.release()
            scheduler.advance_to_next_work()
            work = scheduler.get_current_work()
        cute.arch.cp_async_bulk_wait_group(0)


@tt.jit
def add_tiles(source: cute.Tensor, target: cute.Tensor, m: tt.Int32, n: tt.Int32, most: tt.Int32) -> None:
    layout = cute.make_ordered_layout(TILE, (1, 0))
    load, from_there = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, layout, TILE)
    store, to_there = cpasync.make_tiled_tma_atom(cpasync.CopyReduceBulkTensorTileS2GOp(), target, layout, TILE)
    params = PersistentTileSchedulerParams((m, n, 1), (1, 1, 1), 2, False)
    grid = StaticPersistentTileScheduler.get_grid_shape(params, most)
    added(load, from_there, store, to_there, params).launch(grid=grid, block=64)


@pytest.mark.parametrize("machine", ["cpu", pytest.param("sm_90a", marks=needs_assembler)])
def test_every_tile_is_added_once(machine: str) -> None:
    place: Any = nullcontext() if machine == "cpu" else numpy_gpu(machine)
    with place:
        for shape, most in (((20, 96), 4), ((3, 44), 1), ((9, 132), 7)):
            values = np.arange(1, 1 + shape[0] * shape[1], dtype=np.int32).reshape(shape)
            target = np.zeros_like(values)
            m, n = -(-shape[0] // 4), -(-shape[1] // 32)
            add_tiles(
                *(from_dlpack(each, assumed_align=16).mark_layout_dynamic() for each in (values, target)), m, n, most
            )
            np.testing.assert_array_equal(target, values)
