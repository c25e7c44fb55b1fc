"""Products with block scales in tensor memory: every kind against NumPy, to the bit for whole numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import UnsetFieldError
from triptych.support.config import override
from triptych.utils import TmemAllocator, blackwell_helpers, blockscaled_layout

pytestmark = pytest.mark.cpu
THREADS, ROWS = 128, 128
K, ONE, SMEM = OperandMajorMode.K, tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM
E8, E4 = tt.Float8E8M0FNU, tt.Float8E4M3FN
ARRAYS: dict[Any, Any] = {
    tt.Float4E2M1FN: ml_dtypes.float4_e2m1fn,
    tt.Float8E4M3FN: ml_dtypes.float8_e4m3fn,
    tt.Float8E5M2: ml_dtypes.float8_e5m2,
    E8: ml_dtypes.float8_e8m0fnu,
}
KINDS: dict[str, tuple[Any, Any, Any, int]] = {
    "mxf8": (tt.Float8E4M3FN, tt.Float8E5M2, E8, 32),
    "mxf4": (tt.Float4E2M1FN, tt.Float4E2M1FN, E8, 32),
    "nvf4": (tt.Float4E2M1FN, tt.Float4E2M1FN, E4, 16),
    "nvf4 by powers of two": (tt.Float4E2M1FN, tt.Float4E2M1FN, E8, 16),
}
"""The types of A, of B and of scales, and how many elements share one."""


@tt.kernel
def product_kernel(
    load_x: cute.CopyAtom,
    x: cute.Tensor,
    load_w: cute.CopyAtom,
    w: cute.Tensor,
    sfx: cute.Tensor,
    sfw: cute.Tensor,
    y: cute.Tensor,
    mma: Any,
    layouts: tt.Constexpr[Any],
    by_fields: tt.Constexpr[bool],
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cute.SmemAllocator()
    a_layout, b_layout, sfa_layout, sfb_layout = layouts
    tile_x = smem.allocate_tensor(mma.op.a_dtype, a_layout.outer, 1024, a_layout.inner)
    tile_w = smem.allocate_tensor(mma.op.b_dtype, b_layout.outer, 1024, b_layout.inner)
    tile_sfx = smem.allocate_tensor(mma.op.sf_dtype, sfa_layout, 1024)
    tile_sfw = smem.allocate_tensor(mma.op.sf_dtype, sfb_layout, 1024)
    one, everyone = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, THREADS))
    bytes_ = sum(
        cute.size_in_bytes(kind, cute.select(layout, mode=[0, 1, 2]))
        for kind, layout in ((mma.op.a_dtype, a_layout), (mma.op.b_dtype, b_layout))
    )
    tiles = pipeline.PipelineTmaUmma.create(
        num_stages=1,
        producer_group=one,
        consumer_group=one,
        tx_count=bytes_,
        barrier_storage=smem.allocate_array(tt.Int64, 2),
    )
    results = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=one, consumer_group=everyone, barrier_storage=smem.allocate_array(tt.Int64, 2)
    )
    columns = TmemAllocator(smem.allocate_array(tt.Int32, 1))
    columns.allocate(512)
    columns.wait_for_alloc()
    for source, target in ((sfx, tile_sfx), (sfw, tile_sfw)):
        flat = cute.make_tensor(cute.recast_ptr(target.iterator, dtype=tt.Uint8), cute.make_layout(cute.size(source)))
        for i in tt.range_constexpr(cute.size(source) // THREADS):
            flat[thread + i * THREADS] = source[thread + i * THREADS]
    cute.arch.fence_view_async_shared()
    cute.arch.sync_threads()

    m, n, _ = mma.shape_mnk
    whole = mma.get_slice(0)
    depth = cute.size(tile_x, mode=[0, 1]) * cute.size(tile_x, mode=[2])
    to_x, from_x = parts(load_x, tile_x, whole.partition_A(cute.local_tile(x, (m, depth), (0, None))))
    to_w, from_w = parts(load_w, tile_w, whole.partition_B(cute.local_tile(w, (n, depth), (0, None))))
    of_y = whole.partition_C(cute.local_tile(y, (m, n), (0, 0)))
    place = columns.retrieve_ptr(tt.Float32)
    sums = cute.make_tensor(place, mma.make_fragment_C(of_y.shape).layout)
    after = tcgen05.find_tmem_tensor_col_offset(sums)
    sfa = scales_of(mma, place + after, sfa_layout)
    sfb = scales_of(mma, place + after + tcgen05.find_tmem_tensor_col_offset(sfa), sfb_layout)
    a, b = mma.make_fragment_A(tile_x), mma.make_fragment_B(tile_w)
    producer, consumer = tiles.make_participants()
    begun, done = results.make_participants()
    if warp == 0:
        result = begun.acquire_and_advance()
        empty = producer.acquire_and_advance()
        cute.copy(load_x, from_x[None, 0], to_x[None, 0], tma_bar_ptr=empty.barrier)
        cute.copy(load_w, from_w[None, 0], to_w[None, 0], tma_bar_ptr=empty.barrier)
        full = consumer.wait_and_advance()
        copy_scales(mma, tile_sfx, sfa)
        copy_scales(mma, tile_sfw, sfb)
        if tt.const_expr(by_fields):
            for k in tt.range_constexpr(cute.size(a, mode=[2])):
                mma.set(tcgen05.Field.SFA, sfa[None, None, k].iterator)
                mma.set(tcgen05.Field.SFB, sfb[None, None, k].iterator)
                cute.gemm(mma, sums, a[None, None, k, 0], b[None, None, k, 0], sums)
                mma.set(tcgen05.Field.ACCUMULATE, True)
        else:
            every = (None, None, None, 0)
            cute.gemm(mma, sums, [a[every], sfa], [b[every], sfb], sums)
        full.release()
        result.commit()
    load = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), tt.Float32), sums)
    mine = load.get_slice(thread)
    held = cute.make_rmem_tensor(mine.partition_D(of_y).shape, tt.Float32)
    full = done.wait_and_advance()
    cute.copy(load, mine.partition_S(sums), held)
    cute.basic_copy(held, mine.partition_D(of_y))
    full.release()
    cute.arch.sync_threads()
    columns.free(place)


def scales_of(mma: Any, place: cute.Pointer, layout: Any) -> cute.Tensor:
    one_stage = cute.slice_(layout, (None, None, None, 0))
    found = blockscaled_layout.make_tmem_layout_sfa(mma, (0, 0, 0), mma.op.sf_vec_size, one_stage)
    return cute.make_tensor(cute.recast_ptr(place, dtype=mma.op.sf_dtype), found)


def copy_scales(mma: Any, shared: cute.Tensor, scales: cute.Tensor) -> None:
    from_, to = cute.filter_zeros(shared), cute.filter_zeros(scales)
    copy = tcgen05.make_s2t_copy(cute.make_copy_atom(tcgen05.Cp4x32x128bOp(ONE), mma.op.sf_dtype), to)
    part = copy.get_slice(0)
    source = tcgen05.get_s2t_smem_desc_tensor(copy, part.partition_S(from_))
    cute.copy(copy, source[None, None, None, None, 0], part.partition_D(to))


def parts(load: cute.CopyAtom, shared: cute.Tensor, matrix: cute.Tensor) -> Any:
    return cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(shared, 0, 3), cute.group_modes(matrix, 0, 3)
    )


@tt.jit
def multiply(
    x_bytes: cute.Tensor,
    w_bytes: cute.Tensor,
    sfx: cute.Tensor,
    sfw: cute.Tensor,
    y: cute.Tensor,
    op: tt.Constexpr[Any],
    depth: tt.Constexpr[int],
    by_fields: tt.Constexpr[bool],
) -> None:
    m, n, _ = op.shape_mnk
    x, w = (
        cute.make_tensor(
            cute.recast_ptr(array.iterator, dtype=kind), cute.make_layout((rows, depth), stride=(depth, 1))
        )
        for array, kind, rows in ((x_bytes, op.a_dtype, m), (w_bytes, op.b_dtype, n))
    )
    mma = cute.make_tiled_mma(op)
    tile = (m, n, depth)
    layouts: list[Any] = [
        blackwell_helpers.make_smem_layout_a(mma, tile, op.a_dtype, 1),
        blackwell_helpers.make_smem_layout_b(mma, tile, op.b_dtype, 1),
        blockscaled_layout.make_smem_layout_sfa(mma, tile, op.sf_vec_size, 1),
        blockscaled_layout.make_smem_layout_sfb(mma, tile, op.sf_vec_size, 1),
    ]
    copy = cpasync.CopyBulkTensorTileG2SOp(ONE)
    one_stage = [cute.select(layout, mode=[0, 1, 2]) for layout in layouts[:2]]
    load_x = cute.nvgpu.make_tiled_tma_atom_A(copy, x, one_stage[0], tile, mma)
    load_w = cute.nvgpu.make_tiled_tma_atom_B(copy, w, one_stage[1], tile, mma)
    product_kernel(*load_x, *load_w, sfx, sfw, y, mma, layouts, by_fields).launch(grid=1, block=THREADS)


def operand(kind: Any, rows: int, depth: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Small numbers, and their bytes."""
    values = np.random.default_rng(seed).integers(-3, 4, (rows, depth)).astype(np.float32)
    codes = values.astype(ARRAYS[kind]).view(np.uint8)
    packed = codes[:, ::2] & 15 | codes[:, 1::2] << 4 if kind.width == 4 else codes
    return values, np.ascontiguousarray(packed)


def scales(kind: Any, rows: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Powers of two (rows, count), and their bytes as shared memory has them, for whole chunks of 128 rows."""
    values = 2.0 ** np.random.default_rng(seed).integers(-1, 3, (-(-rows // ROWS) * ROWS, count))
    chunks = values.astype(ARRAYS[kind]).view(np.uint8).reshape(-1, 4, 32, count // 4, 4)
    return values[:rows], np.ascontiguousarray(chunks.transpose(3, 0, 2, 1, 4)).ravel()


def operation(kind: str, columns: int) -> Any:
    a, b, scale, vector = KINDS[kind]
    return blackwell_helpers.make_blockscaled_trivial_tiled_mma(a, b, K, K, scale, vector, ONE, (ROWS, columns)).op


def run(kind: str, columns: int = 64, *, by_fields: bool = False) -> None:
    a, b, scale, vector = KINDS[kind]
    depth = 4 * 256 // a.width
    x, x_bytes = operand(a, ROWS, depth, 1)
    w, w_bytes = operand(b, columns, depth, 2)
    sfx, sfx_bytes = scales(scale, ROWS, depth // vector, 3)
    sfw, sfw_bytes = scales(scale, columns, depth // vector, 4)
    y = np.zeros((ROWS, columns), np.float32)
    arrays = (x_bytes, w_bytes, sfx_bytes, sfw_bytes, y)
    given = [from_dlpack(array, assumed_align=16) for array in arrays]
    multiply(*given, operation(kind, columns), depth, by_fields)
    expected = (x * sfx.repeat(vector, axis=1)) @ (w * sfw.repeat(vector, axis=1)).T
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    run(kind)


@pytest.mark.parametrize("kind", ["mxf8", "nvf4"])
def test_scales_said_by_fields(kind: str) -> None:
    run(kind, 192, by_fields=True)


@pytest.mark.parametrize("order", ["late", "seed:1"])
def test_orders_of_asynchronous_operations(order: str) -> None:
    with override(async_=order):
        run("mxf4", 128)


def test_products_without_scales_are_refused() -> None:
    @tt.kernel
    def kernel(mma: cute.TiledMma) -> None:
        sums = mma.make_fragment_C(mma.partition_shape_C((ROWS, 64)))
        layout: Any = blackwell_helpers.make_smem_layout_a(mma, (ROWS, 64, 128), tt.Float8E4M3FN, 1)
        tile = cute.SmemAllocator().allocate_tensor(tt.Float8E4M3FN, layout.outer, 1024, layout.inner)
        wide: Any = blackwell_helpers.make_smem_layout_b(mma, (ROWS, 64, 128), tt.Float8E5M2, 1)
        other = cute.SmemAllocator().allocate_tensor(tt.Float8E5M2, wide.outer, 1024, wide.inner)
        a, b = mma.make_fragment_A(tile), mma.make_fragment_B(other)
        cute.gemm(mma, sums, a[None, None, 0, 0], b[None, None, 0, 0], sums)

    @tt.jit
    def host() -> None:
        kernel(cute.make_tiled_mma(operation("mxf8", 64))).launch(grid=1, block=32)

    with pytest.raises(UnsetFieldError, match="SFA"):
        host()
