"""Blocks of a cluster that load tiles for each other, and the same with one rule of such pipelines left out."""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack

ROWS, COLUMNS, TILES, STAGES, BLOCKS = 8, 32, 3, 2, 2
THREADS = 64


@tt.kernel
def together(load: cute.CopyAtom, source: cute.Tensor, target: cute.Tensor, wrong: tt.Constexpr[str]) -> None:
    """Each block loads half of every tile into both; both add one to the whole tile."""
    allocator = cute.SmemAllocator()
    barriers = allocator.allocate_array(tt.Int64, 2 * STAGES)
    stages = cute.make_layout((ROWS, COLUMNS, STAGES), stride=(COLUMNS, 1, ROWS * COLUMNS))
    shared = allocator.allocate_tensor(tt.Float32, stages, 128)
    blocks = cute.make_layout((1, BLOCKS, 1, 1))
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 1),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, BLOCKS),
        tx_count=ROWS * COLUMNS * 4,
        barrier_storage=barriers,
        cta_layout_vmnk=blocks,
    )
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    lane, warp, rank = cute.arch.lane_idx(), cute.arch.warp_idx(), cute.arch.block_idx_in_cluster()
    tiles = cute.group_modes(cute.local_tile(source, (ROWS, COLUMNS), (None, 0)), 0, 2)
    loaded, from_ = cpasync.tma_partition(load, rank, cute.make_layout(BLOCKS), cute.group_modes(shared, 0, 2), tiles)
    if warp == 0:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
        for i in range(TILES):
            pipe.producer_acquire(state)
            barrier = pipe.producer_get_barrier(state)
            cute.copy(load, from_[None, i], loaded[None, state.index], tma_bar_ptr=barrier, mcast_mask=0b11)
            state.advance()
        if wrong != "tail":
            pipe.producer_tail(state)
    else:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        for i in range(TILES):
            pipe.consumer_wait(state)
            for row in tt.range_constexpr(ROWS):
                target[rank, i * ROWS + row, lane] = shared[row, lane, state.index] + 1.0
            pipe.consumer_release(state)  # the release
            state.advance()


@tt.jit
def run(source: cute.Tensor, target: cute.Tensor, wrong: tt.Constexpr[str]) -> None:
    layout = cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1))
    operation = cpasync.CopyBulkTensorTileG2SMulticastOp()
    load, tiles = cpasync.make_tiled_tma_atom(operation, source, layout, (ROWS, COLUMNS), num_multicast=BLOCKS)
    together(load, tiles, target, wrong).launch(grid=BLOCKS, block=THREADS, cluster=(BLOCKS, 1, 1))


def shared_of(wrong: str) -> bool:
    """Whether both blocks add one, with one rule left out."""
    source = np.arange(TILES * ROWS * COLUMNS, dtype=np.float32).reshape(TILES * ROWS, COLUMNS)
    target = np.zeros((BLOCKS, *source.shape), np.float32)
    run(from_dlpack(source, assumed_align=16), from_dlpack(target), wrong)
    return bool((target == source + 1).all())
