"""Products whose A is in tensor memory: threads store it, and `PipelineAsyncUmma` hands it to who multiplies."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import OperandMajorMode, tcgen05
from triptych.cute.tracing.errors import UnknownMatrixInstructionError
from triptych.support.config import override
from triptych.utils import TmemAllocator, blackwell_helpers

pytestmark = pytest.mark.cpu
K = OperandMajorMode.K
M, N, TILES, THREADS = 128, 32, 3, 128
KINDS: dict[Any, Any] = {
    tt.Float16: np.float16,
    tt.BFloat16: ml_dtypes.bfloat16,
    tt.TFloat32: np.float32,
    tt.Float8E4M3FN: ml_dtypes.float8_e4m3fn,
    tt.Int8: np.int8,
}


def operation(kind: Any, rows: int = M, major: Any = K, group: Any = tcgen05.CtaGroup.ONE) -> Any:
    extents = (rows, N, 256 // kind.width)
    places = (group, tcgen05.OperandSource.TMEM, major, K)
    if kind is tt.TFloat32:
        return tcgen05.MmaTF32Op(extents, *places)
    if kind is tt.Int8:
        return tcgen05.MmaI8Op(kind, extents, *places)
    if kind.width == 8:
        return tcgen05.MmaF8F6F4Op(kind, kind, tt.Float32, extents, *places)
    return tcgen05.MmaF16BF16Op(kind, tt.Float32, extents, *places)


@tt.kernel
def product_kernel(
    x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, mma: cute.TiledMma, layout: tt.Constexpr[Any]
) -> None:
    """Each thread has a row of x: eight words of it for each instruction."""
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cute.SmemAllocator()
    kind = mma.op.a_dtype
    tile_w = smem.allocate_tensor(w.element_type, layout.outer, 1024, layout.inner)
    one, everyone = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, THREADS))
    factors = pipeline.PipelineAsyncUmma.create(
        num_stages=1, producer_group=everyone, consumer_group=one, barrier_storage=smem.allocate_array(tt.Int64, 2)
    )
    results = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=one, consumer_group=everyone, barrier_storage=smem.allocate_array(tt.Int64, 2)
    )
    columns = TmemAllocator(smem.allocate_array(tt.Int32, 1))
    columns.allocate(128)
    columns.wait_for_alloc()
    place = columns.retrieve_ptr(mma.op.acc_dtype)
    sums = cute.make_tensor(place, mma.make_fragment_C(mma.partition_shape_C((M, N))).layout)
    depth = mma.op.shape_mnk[2]
    shape = mma.partition_shape_A((M, TILES * depth))
    a = cute.make_tensor(cute.recast_ptr(place + N, dtype=kind), mma.make_fragment_A(shape).layout)
    b = mma.make_fragment_B(tile_w)
    producer, consumer = factors.make_participants()
    begun, done = results.make_participants()
    words = cute.make_tensor(place + N, cute.make_layout((M, 8 * TILES), stride=(65536, 1)))
    store = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.St32x32bOp(tcgen05.Repetition.x8), tt.Float32), words)
    mine = store.get_slice(thread)
    to_words = mine.partition_D(words)
    for i in range(N * TILES * depth // THREADS):
        at = thread + i * THREADS
        tile_w[(at % N, at // N % depth), 0, at // N // depth, 0] = w[at % N, at // N]
    held = cute.make_rmem_tensor(mine.partition_S(cute.make_identity_tensor((M, 8 * TILES))).shape, tt.Float32)
    of_x = cute.recast_tensor(cute.local_tile(x, (1, TILES * depth), (thread, 0)), tt.Float32)
    for i in tt.range_constexpr(8 * TILES):
        held[i] = of_x[0, i]
    empty = producer.acquire_and_advance()
    cute.copy(store, held, to_words)
    cute.arch.fence_view_async_tmem_store()
    cute.arch.fence_view_async_shared()
    empty.commit()
    if warp == 0:
        full = consumer.wait_and_advance()
        result = begun.acquire_and_advance()
        for k in tt.range_constexpr(TILES):
            cute.gemm(mma, sums, a[None, None, k], b[None, None, k, 0], sums)
            mma.set(tcgen05.Field.ACCUMULATE, True)
        full.release()
        result.commit()
    copy = tcgen05.make_tmem_copy(
        cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition(N)), mma.op.acc_dtype), sums
    )
    mine = copy.get_slice(thread)
    to_y = mine.partition_D(mma.get_slice(0).partition_C(cute.local_tile(y, (M, N), (0, 0))))
    found = cute.make_rmem_tensor(to_y.shape, mma.op.acc_dtype)
    ready = done.wait_and_advance()
    cute.copy(copy, mine.partition_S(sums), found)
    cute.basic_copy(found, to_y)
    ready.release()
    cute.arch.sync_threads()
    columns.free(place)


@tt.jit
def multiply(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, kind: tt.Constexpr[Any]) -> None:
    mma = cute.make_tiled_mma(operation(kind))
    layout = blackwell_helpers.make_smem_layout_b(mma, (M, N, TILES * 256 // kind.width), w.element_type, 1)
    product_kernel(x, w, y, mma, layout).launch(grid=1, block=THREADS)


def run(kind: Any) -> None:
    depth = TILES * 256 // kind.width
    random = np.random.default_rng(5)
    x, w = (random.integers(-2, 3, (rows, depth)).astype(KINDS[kind]) for rows in (M, N))
    y = np.zeros((M, N), np.int32 if kind is tt.Int8 else np.float32)
    multiply(x, w, y, kind)
    np.testing.assert_array_equal(y, x.astype(np.int64) @ w.astype(np.int64).T)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: Any) -> None:
    run(kind)


@pytest.mark.parametrize("order", ["late", "seed:1", "seed:2"])
def test_orders_of_asynchronous_operations(order: str) -> None:
    with override(async_=order):
        run(tt.BFloat16)


@pytest.mark.parametrize(("group", "major"), [(tcgen05.CtaGroup.TWO, K), (tcgen05.CtaGroup.ONE, OperandMajorMode.MN)])
def test_what_tensor_memory_does_not_hold_is_refused(group: Any, major: Any) -> None:
    """Of a pair with 128 rows each CTA would need its 64 rows twice."""
    with pytest.raises(UnknownMatrixInstructionError, match="not read from tensor memory"):
        operation(tt.Float16, 128, major, group)


def test_few_rows_of_a_and_sums_lie_in_the_same_lanes() -> None:
    """In 16 lanes of each quarter, stage after stage: none is in the other half of a quarter."""
    mma = cute.make_tiled_mma(operation(tt.BFloat16, 64))

    @tt.jit
    def run() -> None:
        a = mma.make_fragment_A((*mma.partition_shape_A((64, 32)), 3)).layout
        sums = mma.make_fragment_C((*mma.partition_shape_C((64, N)), 3)).layout
        assert str(a) == f"(((16,4),16),1,2,3):((({1 << 17},{1 << 22}),1),0,16,32)"
        assert str(sums) == f"(((16,4),{N}),1,1,3):((({1 << 16},{1 << 21}),1),0,0,{N})"

    tt.compile(run)
