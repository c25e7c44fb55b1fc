"""y = x @ w.T on Blackwell: one warp copies tiles to shared memory and starts products, their sums in tensor memory.

Tensor memory is a table of 128 lanes by 512 columns that belongs to the block. One thread starts a product (UMMA) of
two whole tiles of shared memory and goes on; the product adds to the table, and a *commit* says on a barrier when it is
complete. Then the four warps of the block load the sums, a lane of the table for each thread, and store them.

`k` is a multiple of 16 bytes, because copies name rows by such addresses.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import triptych as tt
from triptych import cute, pipeline, workbench
from triptych.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from triptych.cute.runtime import from_dlpack
from triptych.utils import TmemAllocator, blackwell_helpers

TILE, DEPTH_BYTES, STAGES, THREADS = (128, 128), 128, 4, 128
TYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@tt.kernel
def gemm_kernel(
    load_x: cute.CopyAtom,
    x: cute.Tensor,
    load_w: cute.CopyAtom,
    w: cute.Tensor,
    y: cute.Tensor,
    mma: cute.TiledMma,
    layouts: tt.Constexpr,
) -> None:
    """`x` is (m, k), `w` is (n, k), `y` is (m, n)."""
    thread, _, _ = cute.arch.thread_idx()
    column, row, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cute.SmemAllocator()
    tile_x, tile_w = [smem.allocate_tensor(y.element_type, layout.outer, 1024, layout.inner) for layout in layouts]
    one, everyone = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, THREADS))
    tiles = pipeline.PipelineTmaUmma.create(
        num_stages=STAGES,
        producer_group=one,
        consumer_group=one,
        tx_count=sum(TILE) * DEPTH_BYTES,
        barrier_storage=smem.allocate_array(tt.Int64, 2 * STAGES),
    )
    results = pipeline.PipelineUmmaAsync.create(
        num_stages=1,
        producer_group=one,
        consumer_group=everyone,
        barrier_storage=smem.allocate_array(tt.Int64, 2),
    )
    columns = TmemAllocator(smem.allocate_array(tt.Int32, 1))
    columns.allocate(TILE[1])
    columns.wait_for_alloc()

    depth = DEPTH_BYTES * 8 // y.element_type.width
    of_x = mma.get_slice(0).partition_A(cute.local_tile(x, (TILE[0], depth), (row, None)))
    of_w = mma.get_slice(0).partition_B(cute.local_tile(w, (TILE[1], depth), (column, None)))
    of_y = mma.get_slice(0).partition_C(cute.local_tile(y, TILE, (row, column)))
    where = mma.get_slice(0).partition_C(cute.local_tile(cute.make_identity_tensor(y.shape), TILE, (row, column)))
    to_x, from_x = tiles_of(load_x, tile_x, of_x)
    to_w, from_w = tiles_of(load_w, tile_w, of_w)
    a, b = mma.make_fragment_A(tile_x), mma.make_fragment_B(tile_w)
    place = columns.retrieve_ptr(tt.Float32)
    sums = cute.make_tensor(place, mma.make_fragment_C(of_y.shape).layout)

    producer, consumer = tiles.make_participants()
    begun, done = results.make_participants()
    if warp == 0:
        result = begun.acquire_and_advance()
        for _ in tt.range(cute.size(from_x, mode=[1]), prefetch_stages=STAGES - 2):
            empty = producer.acquire_and_advance()
            cute.copy(load_x, from_x[None, empty.count], to_x[None, empty.index], tma_bar_ptr=empty.barrier)
            cute.copy(load_w, from_w[None, empty.count], to_w[None, empty.index], tma_bar_ptr=empty.barrier)
            full = consumer.wait_and_advance()
            for k in tt.range_constexpr(cute.size(a, mode=[2])):
                cute.gemm(mma, sums, a[None, None, k, full.index], b[None, None, k, full.index], sums)
                mma.set(tcgen05.Field.ACCUMULATE, True)
            full.release()
        result.commit()

    load = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), tt.Float32), sums)
    mine = load.get_slice(thread)
    from_sums, to_y, where = mine.partition_S(sums), mine.partition_D(of_y), mine.partition_D(where)
    full = done.wait_and_advance()
    for i in tt.range_constexpr(cute.size(from_sums, mode=[2])):
        held = cute.make_rmem_tensor(to_y[None, None, i, 0].shape, tt.Float32)
        cute.copy(load, from_sums[None, None, i, 0], held)
        for j in tt.range_constexpr(cute.size(held)):
            if cute.elem_less(where[None, None, i, 0][j], y.shape):
                to_y[None, None, i, 0][j] = held[j].to(y.element_type)
    full.release()
    cute.arch.sync_threads()
    columns.free(place)


def tiles_of(load: cute.CopyAtom, shared: cute.Tensor, matrix: cute.Tensor) -> Any:
    """Where the copies of a matrix go, and where they come from: (a tile, stages) and (a tile, tiles)."""
    return cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(shared, 0, 3), cute.group_modes(matrix, 0, 3)
    )


@tt.jit
def gemm(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor) -> None:
    dtype, major = x.element_type, OperandMajorMode.K
    tile = (*TILE, DEPTH_BYTES * 8 // dtype.width)
    shape = (*TILE, 256 // dtype.width)
    op = tcgen05.MmaF16BF16Op(dtype, tt.Float32, shape, tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, major, major)
    mma = cute.make_tiled_mma(op)
    layouts = [
        blackwell_helpers.make_smem_layout_a(mma, tile, dtype, STAGES),
        blackwell_helpers.make_smem_layout_b(mma, tile, dtype, STAGES),
    ]
    one_stage = [cute.select(layout, mode=[0, 1, 2]) for layout in layouts]
    load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    loads = [
        cute.nvgpu.make_tiled_tma_atom_A(load, x, one_stage[0], tile, mma),
        cute.nvgpu.make_tiled_tma_atom_B(load, w, one_stage[1], tile, mma),
    ]
    rows, columns = cute.ceil_div(y.shape, TILE)
    gemm_kernel(*loads[0], *loads[1], y, mma, layouts).launch(grid=(columns, rows), block=THREADS)


def operand_of(array: np.ndarray) -> Any:
    """An array of any number of rows whose rows are multiples of 16 bytes."""
    vector = 16 // array.itemsize
    tensor = from_dlpack(array, assumed_align=16)
    return tensor.mark_compact_shape_dynamic(0, (0, 1)).mark_compact_shape_dynamic(1, (0, 1), divisibility=vector)


def numbers(shape: tuple[int, int], dtype: Any, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)


CASES = {
    **{name: {"name": name} for name in TYPES},
    "one tile": {"m": 128, "n": 128, "k": 64},
    "more tiles than stages": {"m": 128, "n": 128, "k": 448},
    "large": {"m": 512, "n": 512, "k": 512, "bench": True},
}


def kernel_fn(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    y = np.empty((len(x), len(w)), x.dtype)
    gemm(operand_of(x), operand_of(w), y)
    return y


def reference_fn(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    wide = np.float64 if x.dtype == np.float64 else np.float32
    return (x.astype(wide) @ w.astype(wide).T).astype(x.dtype)


def baseline_fn(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) @ w.astype(np.float32).T


def error_bound(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """k roundings of the summands to float32, and one of the result to its own type."""
    wide_x, wide_w = x.astype(np.float64), w.astype(np.float64)
    summands = x.shape[1] * 2.0**-24 * (np.abs(wide_x) @ np.abs(wide_w).T)
    return summands + float(ml_dtypes.finfo(x.dtype).eps) * np.abs(wide_x @ wide_w.T)


def get_inputs(m: int = 200, n: int = 150, k: int = 208, name: str = "f16", seed: int = 0) -> list[object]:
    return [numbers((m, k), TYPES[name], 2 * seed), numbers((n, k), TYPES[name], 2 * seed + 1)]


def algorithmic_flops_bytes(x: np.ndarray, w: np.ndarray) -> tuple[int, int]:
    return 2 * x.size * len(w), x.nbytes + w.nbytes + x.itemsize * len(x) * len(w)


workbench.main(__name__)
