"""`PipelineTmaMultiConsumersAsync`: products and threads read what a TMA copy has brought."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.nvgpu.tcgen05.test_products import STAGES, THREADS, K, factors, operation, tiles_of
from triptych import cute, pipeline
from triptych.cute.nvgpu import cpasync, tcgen05
from triptych.cute.tracing.errors import PipelineError
from triptych.support.config import override
from triptych.utils import TmemAllocator, blackwell_helpers

pytestmark = pytest.mark.cpu
M, N, DEPTH, TILES = 128, 32, 64, 5


@tt.kernel
def product_kernel(
    load_x: cute.CopyAtom,
    x: cute.Tensor,
    load_w: cute.CopyAtom,
    w: cute.Tensor,
    y: cute.Tensor,
    rows: cute.Tensor,
    mma: cute.TiledMma,
    layouts: tt.Constexpr[Any],
) -> None:
    """Every thread adds up a row of x, while a warp multiplies."""
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cute.SmemAllocator()
    tile_x, tile_w = [smem.allocate_tensor(tt.Float16, layout.outer, 1024, layout.inner) for layout in layouts]
    one, everyone = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, THREADS))
    tiles = pipeline.PipelineTmaMultiConsumersAsync.create(
        num_stages=STAGES,
        producer_group=one,
        consumer_group_umma=one,
        consumer_group_async=everyone,
        tx_count=sum(cute.size_in_bytes(tt.Float16, cute.select(layout, mode=[0, 1, 2])) for layout in layouts),
        barrier_storage=smem.allocate_array(tt.Int64, 2 * STAGES),
    )
    results = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=one, consumer_group=everyone, barrier_storage=smem.allocate_array(tt.Int64, 2)
    )
    columns = TmemAllocator(smem.allocate_array(tt.Int32, 1))
    columns.allocate(32)
    columns.wait_for_alloc()
    whole = mma.get_slice(0)
    to_x, from_x = tiles_of(load_x, tile_x, whole.partition_A(cute.local_tile(x, (M, DEPTH), (0, None))))
    to_w, from_w = tiles_of(load_w, tile_w, whole.partition_B(cute.local_tile(w, (N, DEPTH), (0, None))))
    of_y = whole.partition_C(cute.local_tile(y, (M, N), (0, 0)))
    a, b = mma.make_fragment_A(tile_x), mma.make_fragment_B(tile_w)
    place = columns.retrieve_ptr(tt.Float32)
    sums = cute.make_tensor(place, mma.make_fragment_C(of_y.shape).layout)
    filled = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
    read = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
    begun, done = results.make_participants()
    total = tt.Float32(0)
    for _ in tt.range(TILES):
        if warp == 0:
            tiles.producer_acquire(filled)
            barrier = tiles.producer_get_barrier(filled)
            cute.copy(load_x, from_x[None, filled.count], to_x[None, filled.index], tma_bar_ptr=barrier)
            cute.copy(load_w, from_w[None, filled.count], to_w[None, filled.index], tma_bar_ptr=barrier)
            filled.advance()
        tiles.consumer_wait(read)
        if warp == 0:
            for k in tt.range_constexpr(cute.size(a, mode=[2])):
                cute.gemm(mma, sums, a[None, None, k, read.index], b[None, None, k, read.index], sums)
                mma.set(tcgen05.Field.ACCUMULATE, True)
            tiles.consumer_release(read, pipeline.PipelineOp.TCGen05Mma)
        for k in range(DEPTH):
            total += tile_x[(thread, k % 16), 0, k // 16, read.index].to(tt.Float32)
        tiles.consumer_release(read, pipeline.PipelineOp.AsyncThread)
        read.advance()
    rows[thread] = total
    if warp == 0:
        begun.acquire_and_advance().commit()
    copy = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition(N)), tt.Float32), sums)
    mine = copy.get_slice(thread)
    to_y = mine.partition_D(of_y)
    held = cute.make_rmem_tensor(to_y.shape, tt.Float32)
    full = done.wait_and_advance()
    cute.copy(copy, mine.partition_S(sums), held)
    cute.basic_copy(held, to_y)
    full.release()
    cute.arch.sync_threads()
    columns.free(place)


@tt.jit
def multiply(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, rows: cute.Tensor) -> None:
    mma = cute.make_tiled_mma(operation("f16", tt.Float32, (M, N), (K, K)))
    tile = (M, N, DEPTH)
    layouts = [
        blackwell_helpers.make_smem_layout_a(mma, tile, tt.Float16, STAGES),
        blackwell_helpers.make_smem_layout_b(mma, tile, tt.Float16, STAGES),
    ]
    one_stage = [cute.select(layout, mode=[0, 1, 2]) for layout in layouts]
    copy = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    load_x = cute.nvgpu.make_tiled_tma_atom_A(copy, x, one_stage[0], tile, mma)
    load_w = cute.nvgpu.make_tiled_tma_atom_B(copy, w, one_stage[1], tile, mma)
    product_kernel(*load_x, *load_w, y, rows, mma, layouts).launch(grid=1, block=THREADS)


@pytest.mark.parametrize("order", ["early", "late", "seed:1"])
def test_products_and_threads_read_a_stage(order: str) -> None:
    x, of_x = factors("f16", M, TILES * DEPTH, K, 1)
    w, of_w = factors("f16", N, TILES * DEPTH, K, 2)
    y, rows = np.zeros((M, N), np.float32), np.zeros(M, np.float32)
    with override(async_=order):
        multiply(of_x, of_w, y, rows)
    np.testing.assert_array_equal(y, x @ w.T)
    np.testing.assert_array_equal(rows, x.sum(axis=1))


@tt.kernel
def in_a_cluster() -> None:
    one = pipeline.CooperativeGroup(pipeline.Agent.Thread, 1)
    pipeline.PipelineTmaMultiConsumersAsync.create(
        num_stages=1,
        producer_group=one,
        consumer_group_umma=one,
        consumer_group_async=one,
        tx_count=16,
        barrier_storage=cute.arch.alloc_smem(tt.Int64, 2),
        cta_layout_vmnk=cute.make_layout((2, 1, 1, 1)),
    )


def test_stages_of_a_pair_are_refused() -> None:
    @tt.jit
    def run() -> None:
        in_a_cluster().launch(grid=2, block=1, cluster=(2, 1, 1))

    with pytest.raises(PipelineError, match="one CTA"):
        tt.compile(run)
