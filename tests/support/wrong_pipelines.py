"""A kernel of every part of an asynchronous program, and the same with one rule of them left out.

One warp loads tiles through a pipeline, another one adds one to them and stores them. `wrong` names what is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack

ROWS, COLUMNS, TILES, STAGES = 4, 32, 5, 2
BYTES = ROWS * COLUMNS * 4
THREADS = 64


def group(size: int) -> pipeline.CooperativeGroup:
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, size)


def parted(atom: Any, tensor: Any, shared: Any) -> Any:
    """Boxes of shared memory and of all tiles of a tensor."""
    tiles = cute.local_tile(tensor, (ROWS, COLUMNS), (None, 0))
    return cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), cute.group_modes(tiles, 0, 2)
    )


def acquire(pipe: Any, state: Any, wrong: str) -> None:
    if wrong == "expect_tx":
        pipe.sync_object_empty.wait(state.index, state.phase)
        with cute.arch.elect_one():
            pipe.sync_object_full.arrive_mbarrier(state.index)
    elif wrong == "stage reused early":
        with cute.arch.elect_one():
            pipe.sync_object_full.arrive_and_expect_tx(state.index, BYTES)  # expected at once
    else:
        pipe.producer_acquire(state)  # the producer waits


@tt.kernel
def add_one(
    load: cute.CopyAtom,
    source: cute.Tensor,
    store: cute.CopyAtom,
    target: cute.Tensor,
    wrong: tt.Constexpr[str],
) -> None:
    allocator = cute.SmemAllocator()
    barriers = allocator.allocate_array(tt.Int64, 2 * STAGES)
    stages = cute.make_layout((ROWS, COLUMNS, STAGES), stride=(COLUMNS, 1, ROWS * COLUMNS))
    shared = allocator.allocate_tensor(tt.Float32, stages, 128)
    result = allocator.allocate_tensor(tt.Float32, cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1)), 128)
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES,
        producer_group=group(1),
        consumer_group=group(2 if wrong == "arrive count" else 1),
        tx_count=BYTES + (16 if wrong == "tx_count too large" else -16 if wrong == "tx_count too small" else 0),
        barrier_storage=barriers,
    )
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    loaded, tiles = parted(load, source, shared)
    stored, results = parted(store, target, result)
    if warp == 0:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
        for i in range(TILES):
            acquire(pipe, state, wrong)
            barrier = pipe.producer_get_barrier(state)
            cute.copy(load, tiles[None, i], loaded[None, state.index], tma_bar_ptr=barrier)  # the load
            state.advance()
        pipe.producer_tail(state)
    else:
        state = pipeline.PipelineState(STAGES, 0, 0, 1 if wrong == "phase" else 0)
        for i in range(TILES):
            if wrong != "wait":
                pipe.consumer_wait(state)  # the consumer waits
            for row in tt.range_constexpr(ROWS):
                result[row, lane] = shared[row, lane, state.index] + 1.0  # the arithmetic
            cute.arch.sync_warp()
            if wrong != "release":
                pipe.consumer_release(state)
            state.advance()
            if wrong != "fence_proxy":
                cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.sync_warp()
            cute.copy(store, stored[None], results[None, i])  # the store
            cute.arch.cp_async_bulk_commit_group()
            if wrong != "store wait":
                cute.arch.cp_async_bulk_wait_group(0, read=True)
            cute.arch.sync_warp()


@tt.jit
def run(source: cute.Tensor, target: cute.Tensor, wrong: tt.Constexpr[str]) -> None:
    layout = cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1))
    tile = (ROWS, COLUMNS)
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 2, 3), 0, layout)
    lies = swizzled if wrong == "swizzle" else layout
    load, tiles = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, lies, tile)
    store, results = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), target, layout, tile)
    add_one(load, tiles, store, results, wrong).launch(grid=1, block=THREADS)


def result_of(wrong: str) -> bool:
    """Whether the program, with one rule left out, adds one."""
    source = np.arange(TILES * ROWS * COLUMNS, dtype=np.float32).reshape(TILES * ROWS, COLUMNS)
    target = np.zeros_like(source)
    run(from_dlpack(source, assumed_align=16), from_dlpack(target, assumed_align=16), wrong)
    return bool((target == source + 1).all())
