"""Mixed-input helpers: layouts against what they mean, exact conversions, and a product of transformed A on the CPU."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from tests.support.ptx.unified import numpy_gpu
from triptych import cute, pipeline, utils
from triptych.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from triptych.metastage.trace.errors import OperandTypeError
from triptych.support.config import override
from triptych.utils import TmemAllocator, blackwell_helpers
from triptych.utils import mixed_input_helpers as helpers

pytestmark = pytest.mark.cpu
K, MN = OperandMajorMode.K, OperandMajorMode.MN
ONE, TWO = tcgen05.CtaGroup.ONE, tcgen05.CtaGroup.TWO
SMEM, TMEM = tcgen05.OperandSource.SMEM, tcgen05.OperandSource.TMEM


# where things lie -------------------------------------------------------------------------------------------------
def test_only_rows_come_from_tensor_memory() -> None:
    assert helpers.get_transform_a_source(K) is TMEM
    assert helpers.get_transform_a_source(MN) is SMEM


@pytest.mark.parametrize(("pair", "is_b"), list(product([False, True], repeat=2)))
def test_a_pair_waits_for_b_together(pair: bool, is_b: bool) -> None:
    group = TWO if pair and is_b else ONE
    assert helpers.get_tma_atom_kind(False, pair, is_b) == cpasync.CopyBulkTensorTileG2SOp(group)
    assert helpers.get_tma_atom_kind(True, pair, is_b) == cpasync.CopyBulkTensorTileG2SMulticastOp(group)


def test_shared_memory_of_a_pair() -> None:
    mma = blackwell_helpers.make_trivial_tiled_mma(tt.BFloat16, MN, K, tt.Float32, TWO, (256, 64), SMEM)
    a, transformed, b = helpers.compute_smem_layout(mma, (256, 64, 128), tt.Int4, tt.BFloat16, 5, 3)
    assert [cute.size(layout) for layout in (a, transformed, b)] == [128 * 128 * 5, 128 * 128 * 3, 32 * 128 * 5]
    assert str(transformed) == str(blackwell_helpers.make_smem_layout_a(mma, (256, 64, 128), tt.BFloat16, 3))
    assert str(a) == str(blackwell_helpers.make_smem_layout_a(mma, (256, 64, 128), tt.Int4, 5))


# scales -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("major", "down", "across"), [(MN, 4, 16), (K, 4, 16), (MN, 1, 8)])
def test_scales_of_a_matrix(major: OperandMajorMode, down: int, across: int) -> None:
    m, k, layers = 8, 48, 2
    layout = helpers.get_gmem_layout_scale((m, k, layers), down, across, major)
    rows, columns = m // down, k // across
    for i, j, layer in product(range(m), range(k), range(layers)):
        row, column = i // down, j // across
        place = row + column * rows if major is MN else row * columns + column
        assert layout((i, j, layer)) == place + layer * rows * columns


@pytest.mark.parametrize(("pair", "across", "major"), list(product([False, True], [16, 64, 256], [MN, K])))
def test_scales_of_a_tile(pair: bool, across: int, major: OperandMajorMode) -> None:
    rows, depth, stages = 128 * (1 + pair), 64, 3
    tile, one, staged = helpers.get_smem_layout_scale((rows, 32, depth), pair, 1, across, major, tt.BFloat16, stages)
    columns = max(1, depth // across)
    assert tile == (rows, depth)
    assert cute.size_in_bytes(tt.BFloat16, one) == 128 * columns * 2, "what TMA brings to each CTA"
    assert cute.cosize(staged.outer) == 128 * columns * stages
    for i, j, stage in product(range(rows), range(0, depth, 8), range(stages)):
        row, column = i % 128, j // min(across, depth)
        place = row + column * 128 if major is MN else row * columns + column
        assert one((i, j)) == place
        assert staged((i, j, stage)) == place + stage * 128 * columns


def test_scales_cover_whole_tiles() -> None:
    with pytest.raises(OperandTypeError, match="no whole blocks of scales"):
        helpers.get_smem_layout_scale((128, 32, 64), False, 1, 24, MN, tt.BFloat16, 2)


# conversion -------------------------------------------------------------------------------------------------------
TOGETHER = 16


@tt.kernel
def convert(x: cute.Tensor, y: cute.Tensor, types: tt.Constexpr[Any], shuffled: tt.Constexpr[bool]) -> None:
    narrow, wide = types
    block, _, _ = cute.arch.block_idx()
    numbers = cute.make_rmem_tensor(TOGETHER, narrow)
    for i in tt.range_constexpr(TOGETHER):
        numbers[i] = x[block, i].to(narrow)
    found = helpers.cvt_tensor_a(numbers, wide, shuffled)
    for i in tt.range_constexpr(TOGETHER):
        y[block, i] = found[i].to(tt.Float32)


@tt.jit
def convert_all(x: cute.Tensor, y: cute.Tensor, types: tt.Constexpr[Any], shuffled: tt.Constexpr[bool]) -> None:
    convert(x, y, types, shuffled).launch(grid=x.shape[0], block=1)


def converted(values: Any, types: Any, shuffled: bool = False) -> list[float]:
    x = np.ascontiguousarray(values, np.int32).reshape(-1, TOGETHER)
    y = np.zeros(x.shape, np.float32)
    convert_all(x, y, types, shuffled)
    return list(y.ravel())


NARROW = {tt.Int4: range(-8, 8), tt.Int8: range(-128, 128), tt.Uint8: range(256)}


@pytest.mark.parametrize(("narrow", "wide"), list(product(NARROW, [tt.BFloat16, tt.Float16])))
def test_conversion_is_exact(narrow: Any, wide: Any) -> None:
    assert converted(NARROW[narrow], (narrow, wide)) == list(NARROW[narrow])


def test_shuffled_numbers_come_in_order() -> None:
    values = np.array([*range(-8, 8), *range(7, -9, -1)])
    shuffled = values.reshape(-1, 8)[:, [0, 2, 1, 3, 4, 6, 5, 7]]
    assert converted(shuffled, (tt.Int4, tt.BFloat16), True) == list(values)


# a product of transformed A ---------------------------------------------------------------------------------------
N, DEPTH, SHARE, THREADS = 32, 64, 32, 128


class Kernel:
    """One tile of (x * scale) @ w.T by four warps, which transform A of Int8 and store the results."""

    def __init__(self, rows: int, major: OperandMajorMode, mode: helpers.TransformMode) -> None:
        self.rows, self.major, self.mode = rows, major, mode
        self.source = helpers.get_transform_a_source(major)
        self.is_scaled = mode is helpers.TransformMode.ConvertScale

    @tt.jit
    def __call__(self, x: cute.Tensor, s: cute.Tensor, w: cute.Tensor, y: cute.Tensor) -> None:
        tile = (self.rows, N, DEPTH)
        mma = blackwell_helpers.make_trivial_tiled_mma(
            tt.BFloat16, self.major, K, tt.Float32, ONE, tile[:2], self.source
        )
        layouts = helpers.compute_smem_layout(mma, tile, tt.Int8, tt.BFloat16, 1, 1)
        *_, scales = helpers.get_smem_layout_scale(tile, False, 1, SHARE, MN, tt.BFloat16, 1)
        self.y_layout = utils.LayoutEnum.from_tensor(y)
        self.kernel(x, s, w, y, mma, layouts, scales).launch(grid=1, block=THREADS)

    @tt.kernel
    def kernel(
        self,
        x: cute.Tensor,
        s: cute.Tensor,
        w: cute.Tensor,
        y: cute.Tensor,
        mma: cute.TiledMma,
        layouts: tt.Constexpr[Any],
        scales: tt.Constexpr[Any],
    ) -> None:
        thread, _, _ = cute.arch.thread_idx()
        warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        smem = cute.SmemAllocator()
        kinds = (tt.Int8, tt.BFloat16, tt.BFloat16)
        tile_x, tile_a, tile_w = (
            smem.allocate_tensor(kind, layout.outer, 1024, layout.inner)
            for kind, layout in zip(kinds, layouts, strict=True)
        )
        tile_s = smem.allocate_tensor(tt.BFloat16, scales.outer, 1024, scales.inner)
        one, everyone = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, THREADS))
        factors = pipeline.PipelineAsyncUmma.create(
            num_stages=1, producer_group=everyone, consumer_group=one, barrier_storage=smem.allocate_array(tt.Int64, 2)
        )
        results = pipeline.PipelineUmmaAsync.create(
            num_stages=1, producer_group=one, consumer_group=everyone, barrier_storage=smem.allocate_array(tt.Int64, 2)
        )
        columns = TmemAllocator(smem.allocate_array(tt.Int32, 1))
        columns.allocate(64)
        columns.wait_for_alloc()
        place = columns.retrieve_ptr(tt.Float32)
        sums = cute.make_tensor(place, mma.make_fragment_C((*mma.partition_shape_C((self.rows, N)), 1)).layout)
        for k in range(DEPTH):
            if thread < self.rows:
                tile_x[(thread, k % 16), 0, k // 16, 0] = x[thread, k]
            if thread < N:
                tile_w[(thread, k % 16), 0, k // 16, 0] = w[thread, k]
        for block in tt.range_constexpr(DEPTH // SHARE):
            if thread < self.rows:
                tile_s[thread, block * SHARE, 0] = s[thread, block]
        cute.arch.sync_threads()
        if tt.const_expr(self.source is TMEM):
            a = cute.make_tensor(
                cute.recast_ptr(place + N, dtype=tt.BFloat16), mma.make_fragment_A(layouts[1].outer).layout
            )
            self.transform(mma, tile_x, tile_s, a, thread)
            cute.arch.fence_view_async_tmem_store()
        else:
            a = mma.make_fragment_A(tile_a)
            self.transform(mma, tile_x, tile_s, tile_a, thread)
        cute.arch.fence_view_async_shared()
        producer, consumer = factors.make_participants()
        begun, done = results.make_participants()
        producer.acquire_and_advance().commit()
        if warp == 0:
            full, result = consumer.wait_and_advance(), begun.acquire_and_advance()
            b = mma.make_fragment_B(tile_w)
            for k in tt.range_constexpr(cute.size(a, mode=[2])):
                cute.gemm(
                    mma, sums[None, None, None, 0], a[None, None, k, 0], b[None, None, k, 0], sums[None, None, None, 0]
                )
                mma.set(tcgen05.Field.ACCUMULATE, True)
            full.release()
            result.commit()
        ready = done.wait_and_advance()
        self.store(y, mma, sums, thread)
        ready.release()
        cute.arch.sync_threads()
        columns.free(place)

    def transform(self, mma: Any, tile_x: Any, tile_s: Any, a: Any, thread: Any) -> None:
        atoms = (
            cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), tt.Int8, num_bits_per_copy=32),
            helpers.get_copy_atom_a_transform(
                tt.BFloat16, False, self.source, mma.partition_shape_A((self.rows, DEPTH)), tt.Int8
            ),
        )
        load, store, mine, to_a = helpers.transform_partition(self.source, self.mode, *atoms, tile_x, a, thread)
        held = cute.make_rmem_tensor(mine[None, None, None, None, 0].shape, tt.Int8)
        wide = cute.make_rmem_tensor(held.shape, tt.BFloat16)
        cute.autovec_copy(mine[None, None, None, None, 0], held)
        numbers = helpers.cvt_tensor_a(held, tt.BFloat16)
        assert (load is not None) is self.is_scaled
        if load is not None:
            shared = mma.get_slice(0).partition_A(tile_s)
            _, places, once, for_each = helpers.scale_partition(load, shared, thread, tt.BFloat16)
            first = places[None, None, None, None, 0]
            cute.autovec_copy(cute.make_tensor(first.iterator, cute.filter_zeros(first.layout)), once)
            assert cute.size(once) < cute.size(for_each) == cute.size(held)
            numbers = numbers * cute.TensorSSA(for_each.load(), numbers.shape, tt.BFloat16)
        wide.store(numbers)
        helpers.store_transformed_a(wide, to_a[None, None, None, None, 0], store)

    def store(self, y: Any, mma: Any, sums: Any, thread: Any) -> None:
        of_y = mma.get_slice(0).partition_C(cute.local_tile(y, (self.rows, N), (None, None, None)))
        load, from_sums, held = helpers.epilog_tmem_copy_and_partition(
            (self.rows, N, DEPTH), self.y_layout, y.element_type, tt.Float32, thread, sums, of_y, (self.rows, N), False
        )
        *unused, atom, to_y = helpers.epilog_gmem_copy_and_partition(
            y.element_type, thread, None, load, None, of_y, (self.rows, N), None
        )
        assert unused == [None, None, None]
        cute.copy(load, from_sums[None, None, None, 0, 0, 0], held)
        cute.copy(atom, held, to_y[None, None, None, 0, 0, 0, 0, 0])


CASES = [(rows, major, mode) for rows in (64, 128) for major in (K, MN) for mode in helpers.TransformMode]


def run(rows: int, major: OperandMajorMode, mode: helpers.TransformMode) -> None:
    random = np.random.default_rng(3)
    x = random.integers(-128, 128, (rows, DEPTH)).astype(np.int8)
    s = 2.0 ** random.integers(-2, 3, (rows, DEPTH // SHARE)).astype(np.float32)
    w = random.integers(-2, 3, (N, DEPTH)).astype(ml_dtypes.bfloat16)
    y = np.zeros((rows, N, 1), np.float32)
    Kernel(rows, major, mode)(x, s.astype(ml_dtypes.bfloat16), w, y)
    scale = s.repeat(SHARE, axis=1) if mode is helpers.TransformMode.ConvertScale else 1
    np.testing.assert_array_equal(y[:, :, 0], (x * scale).astype(np.float32) @ w.astype(np.float32).T)


@pytest.mark.parametrize(("rows", "major", "mode"), CASES)
def test_transformed_a_is_multiplied(rows: int, major: OperandMajorMode, mode: helpers.TransformMode) -> None:
    with override(async_="late"):
        run(rows, major, mode)


@pytest.mark.parametrize(("rows", "major", "mode"), CASES)
def test_the_same_as_ptx(rows: int, major: OperandMajorMode, mode: helpers.TransformMode) -> None:
    with numpy_gpu("sm_100a"):
        run(rows, major, mode)


@pytest.mark.parametrize("of_tma", [True, False])
def test_a_copy_needs_its_tensors(of_tma: bool) -> None:
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), tt.Float32, num_bits_per_copy=32)
    threads = cute.make_tiled_copy_tv(atom, cute.make_layout(THREADS), cute.make_layout(1))
    by_tma, by_threads = (atom, None) if of_tma else (None, threads)
    name = "gC_mnl_tma" if of_tma else "gC_mnl_simt"
    with pytest.raises(OperandTypeError, match=f"{name}=None"):
        helpers.epilog_gmem_copy_and_partition(tt.Float32, tt.Int32(0), by_tma, by_threads, None, None, (128, N), None)
