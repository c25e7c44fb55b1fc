"""y = x @ w.T on Hopper: one warp copies tiles to shared memory, four others multiply them, and they meet at barriers.

The copying warp names a tile by its coordinates and goes on; the copy engine (TMA) lays the tile out, swizzled, and
counts its bytes on a barrier. The multiplying warps, a *warpgroup*, wait for that barrier and name the tiles: their
products read shared memory themselves, and run while the warps go on. When the products of a tile have run, the warps
release its stage to the copying warp. Rows and columns outside of a matrix arrive as zeros.

`k` is a multiple of 16 bytes, because copies name rows by such addresses.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import triptych as tt
from triptych import cute, pipeline, workbench
from triptych.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from triptych.cute.runtime import from_dlpack
from triptych.utils import LayoutEnum, hopper_helpers

ROWS, COLUMNS, DEPTH_BYTES, STAGES = 64, 128, 128, 4
WARPGROUP, WARP = 128, 32
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
    smem = cute.SmemAllocator()
    tile_x, tile_w = [smem.allocate_tensor(y.element_type, layout.outer, 1024, layout.inner) for layout in layouts]
    depth = cute.size(tile_x, mode=[1])
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, WARPGROUP // WARP),
        tx_count=(ROWS + COLUMNS) * DEPTH_BYTES,
        barrier_storage=smem.allocate_array(tt.Int64, 2 * STAGES),
    )
    to_x, from_x = tiles_of(load_x, tile_x, cute.local_tile(x, (ROWS, depth), (row, None)))
    to_w, from_w = tiles_of(load_w, tile_w, cute.local_tile(w, (COLUMNS, depth), (column, None)))
    producer, consumer = pipe.make_participants()
    tiles = cute.size(from_x, mode=[1])
    if thread >= WARPGROUP:
        for _ in range(tiles):
            stage = producer.acquire_and_advance()
            cute.copy(load_x, from_x[None, stage.count], to_x[None, stage.index], tma_bar_ptr=stage.barrier)
            cute.copy(load_w, from_w[None, stage.count], to_w[None, stage.index], tma_bar_ptr=stage.barrier)
        producer.tail()
    else:
        mine, whole = mma.get_slice(thread), mma.get_slice(0)
        part_y = mine.partition_C(cute.local_tile(y, (ROWS, COLUMNS), (row, column)))
        where = mine.partition_C(cute.local_tile(cute.make_identity_tensor(y.shape), (ROWS, COLUMNS), (row, column)))
        a, b = mma.make_fragment_A(whole.partition_A(tile_x)), mma.make_fragment_B(whole.partition_B(tile_w))
        sums = mma.make_fragment_C(part_y)
        mma.set(warpgroup.Field.ACCUMULATE, False)
        for _ in range(tiles):
            full = consumer.wait_and_advance()
            warpgroup.fence()
            for k in tt.range_constexpr(cute.size(a, mode=[2])):
                cute.gemm(mma, sums, a[None, None, k, full.index], b[None, None, k, full.index], sums)
                mma.set(warpgroup.Field.ACCUMULATE, True)
            warpgroup.commit_group()
            warpgroup.wait_group(0)
            full.release()
        for i in tt.range_constexpr(cute.size(sums)):
            if cute.elem_less(where[i], y.shape):
                part_y[i] = sums[i].to(y.element_type)


def tiles_of(load: cute.CopyAtom, shared: cute.Tensor, matrix: cute.Tensor) -> Any:
    """Where the copies of a matrix go, and where they come from: (a tile, stages) and (a tile, tiles)."""
    return cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), cute.group_modes(matrix, 0, 2)
    )


@tt.jit
def gemm(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor) -> None:
    dtype, major = x.element_type, OperandMajorMode.K
    tile = (ROWS, COLUMNS, DEPTH_BYTES * 8 // dtype.width)
    mma = hopper_helpers.make_trivial_tiled_mma(dtype, dtype, major, major, tt.Float32, (1, 1, 1), tile[:2])
    layouts = [
        make(LayoutEnum.ROW_MAJOR, tile, dtype, STAGES)
        for make in (hopper_helpers.make_smem_layout_a, hopper_helpers.make_smem_layout_b)
    ]
    loads = [
        cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensorTileG2SOp(), matrix, cute.slice_(layout, (None, None, 0)), (rows, tile[2])
        )
        for matrix, layout, rows in zip((x, w), layouts, tile[:2], strict=True)
    ]
    rows, columns = cute.ceil_div(y.shape, tile[:2])
    gemm_kernel(*loads[0], *loads[1], y, mma, layouts).launch(grid=(columns, rows), block=WARPGROUP + WARP)


def operand_of(array: np.ndarray) -> Any:
    """An array of any number of rows whose rows are multiples of 16 bytes."""
    vector = 16 // array.itemsize
    tensor = from_dlpack(array, assumed_align=16)
    return tensor.mark_compact_shape_dynamic(0, (0, 1)).mark_compact_shape_dynamic(1, (0, 1), divisibility=vector)


def numbers(shape: tuple[int, int], dtype: Any, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)


CASES = {
    **{name: {"name": name} for name in TYPES},
    "one tile": {"m": 64, "n": 128, "k": 64},
    "more tiles than stages": {"m": 64, "n": 128, "k": 320},
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
