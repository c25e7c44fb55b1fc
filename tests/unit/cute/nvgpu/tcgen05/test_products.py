"""Products in tensor memory on the CPU: kinds of factors, majors, loads, and orders of asynchronous operations."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from triptych.cute.runtime import from_dlpack
from triptych.metastage.trace.errors import OperandTypeError
from triptych.support.config import override
from triptych.utils import TmemAllocator, blackwell_helpers

pytestmark = pytest.mark.cpu
K, MN = OperandMajorMode.K, OperandMajorMode.MN
STAGES, THREADS = 2, 128
ARRAYS: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
}
KINDS: dict[str, Any] = {
    "f16": tt.Float16,
    "bf16": tt.BFloat16,
    "tf32": tt.TFloat32,
    "e4m3": tt.Float8E4M3FN,
    "e5m2": tt.Float8E5M2,
    "s8": tt.Int8,
    "u8": tt.Uint8,
}
LOADS = {"32x32b": tcgen05.Ld32x32bOp, "16x64b": tcgen05.Ld16x64bOp, "16x128b": tcgen05.Ld16x128bOp}
LOADS["16x256b"] = tcgen05.Ld16x256bOp


def operation(kind: str, accumulator: Any, shape: tuple[int, int], majors: tuple[Any, Any]) -> Any:
    places = (tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, *majors)
    dtype = KINDS[kind]
    extents = (*shape, 256 // dtype.width)
    if kind == "tf32":
        return tcgen05.MmaTF32Op(extents, *places)
    if kind in ("s8", "u8"):
        return tcgen05.MmaI8Op(dtype, extents, *places)
    if dtype.width == 8:
        return tcgen05.MmaF8F6F4Op(dtype, dtype, accumulator, extents, *places)
    return tcgen05.MmaF16BF16Op(dtype, accumulator, extents, *places)


@tt.kernel
def product_kernel(
    load_x: cute.CopyAtom,
    x: cute.Tensor,
    load_w: cute.CopyAtom,
    w: cute.Tensor,
    y: cute.Tensor,
    mma: cute.TiledMma,
    layouts: tt.Constexpr[Any],
    load: tt.Constexpr[Any],
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    m, n, _ = mma.shape_mnk
    smem = cute.SmemAllocator()
    kind = x_type(mma)
    tile_x, tile_w = [smem.allocate_tensor(kind, layout.outer, 1024, layout.inner) for layout in layouts]
    one, everyone = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, THREADS))
    stage_bytes = sum(cute.size_in_bytes(kind, cute.select(layout, mode=[0, 1, 2])) for layout in layouts)
    tiles = pipeline.PipelineTmaUmma.create(
        num_stages=STAGES,
        producer_group=one,
        consumer_group=one,
        tx_count=stage_bytes,
        barrier_storage=smem.allocate_array(tt.Int64, 2 * STAGES),
    )
    results = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=one, consumer_group=everyone, barrier_storage=smem.allocate_array(tt.Int64, 2)
    )
    columns = TmemAllocator(smem.allocate_array(tt.Int32, 1))
    columns.allocate(256)
    columns.wait_for_alloc()
    whole = mma.get_slice(0)
    depth = cute.size(tile_x, mode=[0, 1]) * cute.size(tile_x, mode=[2])
    to_x, from_x = tiles_of(load_x, tile_x, whole.partition_A(cute.local_tile(x, (m, depth), (0, None))))
    to_w, from_w = tiles_of(load_w, tile_w, whole.partition_B(cute.local_tile(w, (n, depth), (0, None))))
    of_y = whole.partition_C(cute.local_tile(y, (m, n), (0, 0)))
    a, b = mma.make_fragment_A(tile_x), mma.make_fragment_B(tile_w)
    place = columns.retrieve_ptr(mma.op.acc_dtype)
    sums = cute.make_tensor(place, mma.make_fragment_C(of_y.shape).layout)
    producer, consumer = tiles.make_participants()
    begun, done = results.make_participants()
    if warp == 0:
        result = begun.acquire_and_advance()
        for _ in tt.range(cute.size(from_x, mode=[1])):
            empty = producer.acquire_and_advance()
            cute.copy(load_x, from_x[None, empty.count], to_x[None, empty.index], tma_bar_ptr=empty.barrier)
            cute.copy(load_w, from_w[None, empty.count], to_w[None, empty.index], tma_bar_ptr=empty.barrier)
            full = consumer.wait_and_advance()
            for k in tt.range_constexpr(cute.size(a, mode=[2])):
                cute.gemm(mma, sums, a[None, None, k, full.index], b[None, None, k, full.index], sums)
                mma.set(tcgen05.Field.ACCUMULATE, True)
            full.release()
        result.commit()
    copy = tcgen05.make_tmem_copy(cute.make_copy_atom(load, mma.op.acc_dtype), sums)
    mine = copy.get_slice(thread)
    from_sums, to_y = mine.partition_S(sums), mine.partition_D(of_y)
    held = cute.make_rmem_tensor(to_y.shape, mma.op.acc_dtype)
    full = done.wait_and_advance()
    cute.copy(copy, from_sums, held)
    cute.basic_copy(held, to_y)
    full.release()
    cute.arch.sync_threads()
    columns.free(place)


def x_type(mma: cute.TiledMma) -> Any:
    return tt.Float32 if mma.op.a_dtype is tt.TFloat32 else mma.op.a_dtype


def tiles_of(load: cute.CopyAtom, shared: cute.Tensor, matrix: cute.Tensor) -> Any:
    return cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(shared, 0, 3), cute.group_modes(matrix, 0, 3)
    )


@tt.jit
def multiply(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, op: tt.Constexpr[Any], load: tt.Constexpr[Any]) -> None:
    mma = cute.make_tiled_mma(op)
    tile = (*op.shape_mnk[:2], 4 * op.shape_mnk[2])
    kind = x_type(mma)
    layouts = [
        blackwell_helpers.make_smem_layout_a(mma, tile, kind, STAGES),
        blackwell_helpers.make_smem_layout_b(mma, tile, kind, STAGES),
    ]
    one_stage = [cute.select(layout, mode=[0, 1, 2]) for layout in layouts]
    copy = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    load_x = cute.nvgpu.make_tiled_tma_atom_A(copy, x, one_stage[0], tile, mma)
    load_w = cute.nvgpu.make_tiled_tma_atom_B(copy, w, one_stage[1], tile, mma)
    product_kernel(*load_x, *load_w, y, mma, layouts, load).launch(grid=1, block=THREADS)


def factors(kind: str, rows: int, depth: int, major: Any, seed: int) -> tuple[np.ndarray, Any]:
    """Small whole numbers, and the same as an argument (rows, depth)."""
    low = 0 if kind == "u8" else -2
    values = np.random.default_rng(seed).integers(low, 3, (rows, depth))
    array = np.ascontiguousarray(values.astype(ARRAYS[kind]) if major is K else values.T.astype(ARRAYS[kind]))
    tensor = from_dlpack(array if major is K else array.T, assumed_align=16)
    return values, tensor


def run(
    kind: str, shape: tuple[int, int], majors: tuple[Any, Any] = (K, K), load: Any = None, accumulator: Any = tt.Float32
) -> None:
    op = operation(kind, accumulator, shape, majors)
    depth = 5 * 4 * op.shape_mnk[2]
    x, of_x = factors(kind, shape[0], depth, majors[0], 1)
    w, of_w = factors(kind, shape[1], depth, majors[1], 2)
    types: dict[Any, Any] = {tt.Int32: np.int32, tt.Float16: np.float16}
    y = np.zeros(shape, types.get(op.acc_dtype, np.float32))
    chosen = load or tcgen05.Ld32x32bOp(tcgen05.Repetition(shape[1]))
    multiply(of_x, of_w, y, op, chosen)
    np.testing.assert_array_equal(y, x @ w.T)


@pytest.mark.parametrize("kind", ARRAYS)
def test_kinds(kind: str) -> None:
    run(kind, (128, 64))


@pytest.mark.parametrize("majors", [(MN, K), (K, MN), (MN, MN)])
@pytest.mark.parametrize("kind", ["f16", "tf32", "s8", "e5m2"])
def test_majors(kind: str, majors: tuple[Any, Any]) -> None:
    run(kind, (128, 64), majors)


def test_tf32_along_n_comes_in_whole_rows() -> None:
    with pytest.raises(OperandTypeError, match="no instruction reads this tile along M or N"):
        run("tf32", (128, 16), (K, MN))


@pytest.mark.parametrize("order", ["late", "seed:1", "seed:2"])
def test_orders_of_asynchronous_operations(order: str) -> None:
    with override(async_=order):
        run("bf16", (128, 32))


@pytest.mark.parametrize("shape", LOADS)
def test_loads_by_every_shape(shape: str) -> None:
    run("f16", (128, 64), load=LOADS[shape](tcgen05.Repetition.x8))


@pytest.mark.parametrize("shape", ["16x64b", "16x128b", "16x256b"])
def test_products_of_64_rows(shape: str) -> None:
    run("f16", (64, 64), load=LOADS[shape](tcgen05.Repetition.x4))


@pytest.mark.parametrize("shape", LOADS)
def test_sums_of_16_bits_are_packed(shape: str) -> None:
    pack = tcgen05.Pack.PACK_16b_IN_32b
    run("f16", (128, 64), load=LOADS[shape](tcgen05.Repetition.x4, pack), accumulator=tt.Float16)
