"""Epilogues of SM100 on the CPU: a kernel class with its tiles, its operation on results, and stores by both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from triptych import cute, pipeline, utils
from triptych.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from triptych.cute.runtime import from_dlpack
from triptych.utils import blackwell_helpers
from triptych.utils.gemm import sm100

pytestmark = pytest.mark.cpu
STAGES, DEPTH = 3, 64


class Gemm:
    """One tile of y = op(x @ w.T), by a warp for copies, a warp for products, and four for the epilogue."""

    epilogue_warp_id = (0, 1, 2, 3)
    epilog_sync_bar_id = 1
    num_c_stage = 2
    use_2cta_instrs = False
    acc_dtype = tt.Float32

    def __init__(self, tile: tuple[int, int], by_tma: bool, op: Callable[[Any], Any]) -> None:
        self.tile, self.by_tma, self.op = (*tile, DEPTH), by_tma, op
        self.cta_tile_shape_mnk = self.tile

    @tt.jit
    def __call__(self, x: cute.Tensor, w: cute.Tensor, y: cute.Tensor) -> None:
        self.c_dtype, self.c_layout = y.element_type, utils.LayoutEnum.from_tensor(y)
        k, one = OperandMajorMode.K, tcgen05.CtaGroup.ONE
        mma = blackwell_helpers.make_trivial_tiled_mma(x.element_type, k, k, self.acc_dtype, one, self.tile[:2])
        kind = x.element_type
        a = blackwell_helpers.make_smem_layout_a(mma, self.tile, kind, STAGES)
        b = blackwell_helpers.make_smem_layout_b(mma, self.tile, kind, STAGES)
        self.epi_tile = blackwell_helpers.compute_epilogue_tile_shape(self.tile, False, self.c_layout, self.c_dtype)
        c = blackwell_helpers.make_smem_layout_epi(self.c_dtype, self.c_layout, self.epi_tile, self.num_c_stage)
        load = cpasync.CopyBulkTensorTileG2SOp(one)
        stages = [cute.select(layout, mode=[0, 1, 2]) for layout in (a, b)]
        load_x = cute.nvgpu.make_tiled_tma_atom_A(load, x, stages[0], self.tile, mma)
        load_w = cute.nvgpu.make_tiled_tma_atom_B(load, w, stages[1], self.tile, mma)
        store, results = None, y
        if tt.const_expr(self.by_tma):
            store, results = cpasync.make_tiled_tma_atom(
                cpasync.CopyBulkTensorTileS2GOp(), y, cute.select(c, mode=[0, 1]), self.epi_tile
            )
        self.kernel(*load_x, *load_w, store, results, mma, (a, b, c)).launch(grid=1, block=192)

    @tt.kernel
    def kernel(
        self,
        load_x: cute.CopyAtom,
        x: cute.Tensor,
        load_w: cute.CopyAtom,
        w: cute.Tensor,
        store: cute.CopyAtom | None,
        y: cute.Tensor,
        mma: cute.TiledMma,
        layouts: tt.Constexpr[Any],
    ) -> None:
        thread, _, _ = cute.arch.thread_idx()
        warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        smem = cute.SmemAllocator()
        a, b, c = layouts
        tile_x = smem.allocate_tensor(mma.op.a_dtype, a.outer, 1024, a.inner)
        tile_w = smem.allocate_tensor(mma.op.b_dtype, b.outer, 1024, b.inner)
        tile_y = smem.allocate_tensor(self.c_dtype, c.outer, 1024, c.inner)
        one, warps = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, 4))
        tiles = pipeline.PipelineTmaUmma.create(
            num_stages=STAGES,
            producer_group=one,
            consumer_group=one,
            tx_count=sum(cute.size_in_bytes(mma.op.a_dtype, cute.select(layout, mode=[0, 1, 2])) for layout in (a, b)),
            barrier_storage=smem.allocate_array(tt.Int64, 2 * STAGES),
        )
        sums = pipeline.PipelineUmmaAsync.create(
            num_stages=1,
            producer_group=one,
            consumer_group=warps,
            barrier_storage=smem.allocate_array(tt.Int64, 2),
        )
        columns = utils.TmemAllocator(smem.allocate_array(tt.Int32, 1))
        columns.allocate(256)
        columns.wait_for_alloc()
        m, n, k = self.tile
        whole = mma.get_slice(0)
        of_x = whole.partition_A(cute.local_tile(x, (m, k), (0, None)))
        of_w = whole.partition_B(cute.local_tile(w, (n, k), (0, None)))
        of_y = whole.partition_C(cute.local_tile(y, (m, n), (None, None, None)))
        shape = mma.partition_shape_C((m, n))
        place = columns.retrieve_ptr(self.acc_dtype)
        table = cute.make_tensor(place, mma.make_fragment_C(cute.append(shape, 1)).layout)
        if warp == 4:
            producer = tiles.make_participants()[0]
            to_x, from_x = parts(load_x, tile_x, of_x)
            to_w, from_w = parts(load_w, tile_w, of_w)
            for _ in tt.range(cute.size(from_x, mode=[1])):
                empty = producer.acquire_and_advance()
                cute.copy(load_x, from_x[None, empty.count], to_x[None, empty.index], tma_bar_ptr=empty.barrier)
                cute.copy(load_w, from_w[None, empty.count], to_w[None, empty.index], tma_bar_ptr=empty.barrier)
            producer.tail()
        if warp == 5:
            consumer, begun = tiles.make_participants()[1], sums.make_participants()[0]
            first, second = mma.make_fragment_A(tile_x), mma.make_fragment_B(tile_w)
            result = begun.acquire_and_advance()
            target = table[None, None, None, result.index]
            for _ in tt.range(cute.size(of_x, mode=[3])):
                full = consumer.wait_and_advance()
                for i in tt.range_constexpr(cute.size(first, mode=[2])):
                    at = (None, None, i, full.index)
                    cute.gemm(mma, target, first[at], second[at], target)
                    mma.set(tcgen05.Field.ACCUMULATE, True)
                full.release()
            result.commit()
        if warp < 4:
            state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1)
            where = (tt.Int32(0), tt.Int32(0), tt.Int32(0))
            if tt.const_expr(self.by_tma):
                stores = pipeline.PipelineTmaStore.create(
                    num_stages=self.num_c_stage, producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 128)
                )
                given = (table, tile_y, of_y, self.epi_tile, tt.Int32(0), self.op, where, state, sums, stores)
                sm100.epilogue_tma_store(self, thread, warp, store, *given)
                stores.producer_tail()
            else:
                sm100.epilogue(self, thread, table, of_y, self.epi_tile, self.op, where, state, sums)
        cute.arch.sync_threads()
        columns.free(place)


def parts(load: cute.CopyAtom, shared: cute.Tensor, matrix: cute.Tensor) -> Any:
    return cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(shared, 0, 3), cute.group_modes(matrix, 0, 3)
    )


@pytest.mark.parametrize(
    ("tile", "by_tma", "major", "dtype"),
    [
        ((128, 64), False, "n", np.float32),
        ((128, 64), True, "m", np.float16),
        ((64, 128), False, "m", ml_dtypes.bfloat16),
        ((64, 128), True, "n", np.float16),
        ((128, 128), True, "n", np.float32),
    ],
)
def test_results_are_stored(tile: tuple[int, int], by_tma: bool, major: str, dtype: Any) -> None:
    m, n = tile
    random = np.random.default_rng(1)
    x, w = (random.integers(-2, 3, (rows, 2 * DEPTH)).astype(np.float16) for rows in tile)
    y = np.zeros((1, n, m) if major == "m" else (1, m, n), dtype).transpose((2, 1, 0) if major == "m" else (1, 2, 0))
    Gemm(tile, by_tma, lambda value: value * 2)(*(from_dlpack(array, assumed_align=16) for array in (x, w, y)))
    np.testing.assert_array_equal(y[..., 0].astype(np.float32), 2 * x.astype(np.float32) @ w.astype(np.float32).T)
