"""y = epilogue(x @ w.T), the heart of a linear layer, on tensor cores: f16, bf16 and fp8, in one kernel.

A *matrix instruction* multiplies a small tile that lies in the registers of a warp (16 x 8 x 16 for f16). Which thread
holds which numbers is part of the instruction, as a layout; a tiled product repeats it over four warps, and the copies
from shared memory (`ldmatrix`) are made from the same layouts. So the kernel never computes an index of a fragment.

Shared memory is swizzled: rows of 16 bytes change places within 128 bytes, so that the eight rows which `ldmatrix`
reads at once lie in different banks. Several tiles are under way at a time, as in `sgemm.py`.

The type of `x` chooses the instruction. The epilogue is an object: which method runs is decided while tracing, and
nothing of the classes is in the compiled kernel. A bias is a tensor inside of such an object.

`k` is a multiple of 16 bytes, for copies of 16 bytes; all else is handled by predicates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import triptych as tt
from triptych import cute, pipeline, workbench
from triptych.cute import nvgpu
from triptych.cute.nvgpu import cpasync, warp
from triptych.cute.runtime import from_dlpack

VECTOR_BITS = 128


# epilogues ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Epilogue:
    """Store the sum as it is."""

    def __call__(self, value: Any, row: Any, column: Any) -> Any:
        return value


@dataclass(frozen=True)
class ReLU(Epilogue):
    """Negative sums become zero."""

    def __call__(self, value: Any, row: Any, column: Any) -> Any:
        return cute.arch.fmax(value, 0.0)


@dataclass(frozen=True)
class Scaled(Epilogue):
    """The sum times a number that is part of the program."""

    factor: float

    def __call__(self, value: Any, row: Any, column: Any) -> Any:
        return value * self.factor


@dataclass(frozen=True)
class Bias(Epilogue):
    """A number for each column, from memory."""

    bias: Any

    def __call__(self, value: Any, row: Any, column: Any) -> Any:
        return value + self.bias[column].to(tt.Float32)


@dataclass(frozen=True)
class Then(Epilogue):
    """One epilogue after the other."""

    first: Any
    second: Any

    def __call__(self, value: Any, row: Any, column: Any) -> Any:
        return self.second(self.first(value, row, column), row, column)


# tiles ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Tiling:
    """The tile of a block (k in bytes), the tiles in flight, and the warps along m and n."""

    m: int = 128
    n: int = 128
    k_bytes: int = 64
    stages: int = 3
    warps: tuple[int, int] = (2, 2)

    @property
    def threads(self) -> int:
        return 32 * self.warps[0] * self.warps[1]


def product(dtype: type[tt.Numeric], warps: tuple[int, int]) -> cute.TiledMma:
    """The instruction for a type, over the warps; 16 columns at once, so that `ldmatrix` can load four matrices."""
    if dtype in (tt.Float16, tt.BFloat16):
        op = warp.MmaF16BF16Op(dtype, tt.Float32, (16, 8, 16))
    else:
        op = warp.MmaFP8Op(dtype, tt.Float32, (16, 8, 32))
    m, n, k = op.shape_mnk
    return cute.make_tiled_mma(op, (*warps, 1), (warps[0] * m, warps[1] * n * 2, k))


def swizzled(dtype: type[tt.Numeric], rows: int, depth: int, stages: int) -> cute.ComposedLayout:
    """(rows, depth, stages) with neighbours along k, pieces of 16 bytes permuted by the number of their row."""
    piece = VECTOR_BITS // dtype.width
    wide = min(depth, 8 * piece)
    bits = (wide // piece).bit_length() - 1
    swizzle = cute.make_swizzle(bits, piece.bit_length() - 1, 3)
    atom = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, wide), stride=(wide, 1)))
    return cute.tile_to_shape(atom, (rows, depth, stages), (0, 1, 2))


def load_of(dtype: type[tt.Numeric]) -> cute.CopyAtom:
    """Four matrices of 8 rows of 16 bytes from shared memory."""
    if dtype.width == 16:
        return cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), dtype)
    return cute.make_copy_atom(warp.LdMatrix8x16x8bOp(False, 4), dtype)


@dataclass(frozen=True)
class Operand:
    """What a thread copies of one matrix (rows, k): tiles one after the other, into the stages of a buffer."""

    copy: cute.TiledCopy
    source: cute.Tensor
    target: cute.Tensor
    in_rows: cute.Tensor
    """For each copy of a tile whether it stays in the matrix."""
    in_rows_and_k: cute.Tensor
    """The same for the first tile, the short one."""

    def fetch(self, tile: tt.Int32, stage: tt.Int32) -> None:
        self.start(tile, stage, self.in_rows)

    def fetch_first(self, stage: tt.Int32) -> None:
        self.start(0, stage, self.in_rows_and_k)

    def start(self, tile: tt.Int32, stage: tt.Int32, allowed: cute.Tensor) -> None:
        source, target = self.source[None, None, None, tile], self.target[None, None, None, stage]
        cute.copy(self.copy, source, target, pred=allowed)


def operand(matrix: cute.Tensor, block: tt.Int32, shared: cute.Tensor, threads: int) -> Operand:
    dtype, (rows, depth, _) = matrix.element_type, shared.shape
    piece = VECTOR_BITS // dtype.width
    atom = cute.make_copy_atom(
        cpasync.CopyG2SOp(cache_mode=nvgpu.LoadCacheMode.GLOBAL), dtype, num_bits_per_copy=VECTOR_BITS
    )
    across = cute.size(depth) // piece
    lie = cute.make_layout((threads // across, across), stride=(across, 1))
    copy = cute.make_tiled_copy_tv(atom, lie, cute.make_layout((1, piece)))
    thread, _, _ = cute.arch.thread_idx()
    mine, tile = copy.get_slice(thread), (cute.size(rows), cute.size(depth))
    missing = matrix.shape[1] - cute.ceil_div(matrix.shape[1], tile[1]) * tile[1]
    tiles, where = [
        cute.domain_offset((0, missing, 0), cute.local_tile(tensor, tile, (block, None)))
        for tensor in (matrix, cute.make_identity_tensor(matrix.shape))
    ]
    tiles = cute.make_tensor(tiles.iterator.align(16), tiles.layout)  # k is a multiple of 16 bytes
    target = mine.partition_D(shared)
    target.fill(0)
    first = mine.partition_S(where)[None, None, None, 0]
    allowed = [inside(first, matrix.shape[0], look_at_k) for look_at_k in (False, True)]
    return Operand(copy, mine.partition_S(tiles), target, *allowed)


def inside(where: cute.Tensor, rows: tt.Int32, look_at_k: bool) -> cute.Tensor:
    """For each copy of a tile whether it stays in the matrix; one answer for every k if k does not matter."""
    count, depth = cute.size(where, mode=[1]), cute.size(where, mode=[2])
    layout = cute.make_layout((1, count, depth), stride=(0, 1, count if look_at_k else 0))
    allowed = cute.make_rmem_tensor(layout, tt.Boolean)
    for i in tt.range_constexpr(count):
        for j in tt.range_constexpr(depth if look_at_k else 1):
            row, k = where[0, i, j]
            allowed[0, i, j] = row < rows and k >= 0 if look_at_k else row < rows
    return allowed


# the kernel -----------------------------------------------------------------------------------------------------
@tt.kernel
def gemm_kernel(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, epilogue: Any, tiling: tt.Constexpr) -> None:
    """`x` is (m, k), `w` is (n, k), `y` is (m, n)."""
    dtype, stages = x.element_type, tiling.stages
    m, n, k = tiling.m, tiling.n, tiling.k_bytes * 8 // dtype.width
    thread, _, _ = cute.arch.thread_idx()
    column, row, _ = cute.arch.block_idx()
    smem = cute.SmemAllocator()
    tile_x, tile_w = [
        smem.allocate_tensor(dtype, swizzled(dtype, rows, k, stages), byte_alignment=1024) for rows in (m, n)
    ]
    from_x = operand(x, row, tile_x, tiling.threads)
    from_w = operand(w, column, tile_w, tiling.threads)
    cute.arch.sync_threads()  # the zeros are there

    mma = product(dtype, tiling.warps)
    mine = mma.get_slice(thread)
    rows = mma.make_fragment_A(mine.partition_A(tile_x)[None, None, None, 0])
    columns = mma.make_fragment_B(mine.partition_B(tile_w)[None, None, None, 0])
    load_x, load_w = cute.make_tiled_copy_A(load_of(dtype), mma), cute.make_tiled_copy_B(load_of(dtype), mma)
    parts_x, parts_w = load_x.get_slice(thread).partition_S(tile_x), load_w.get_slice(thread).partition_S(tile_w)
    rows_to_load, columns_to_load = load_x.retile(rows), load_w.retile(columns)
    part_y = mine.partition_C(cute.local_tile(y, (m, n), (row, column)))
    where = mine.partition_C(cute.local_tile(cute.make_identity_tensor(y.shape), (m, n), (row, column)))
    sums = mma.make_fragment_C(part_y)
    sums.fill(0.0)

    everybody = pipeline.CooperativeGroup(pipeline.Agent.ThreadBlock)
    pipe = pipeline.PipelineCpAsync.create(num_stages=stages, producer_group=everybody, consumer_group=everybody)
    filling = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
    using = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)
    tiles = cute.ceil_div(x.shape[1], k)
    for tile in tt.range_constexpr(stages - 1):
        pipe.producer_acquire(filling)
        if tt.const_expr(tile == 0):
            from_x.fetch_first(filling.index)
            from_w.fetch_first(filling.index)
        elif tile < tiles:
            from_x.fetch(tile, filling.index)
            from_w.fetch(tile, filling.index)
        pipe.producer_commit(filling)
        filling.advance()
    for tile in range(tiles):
        pipe.consumer_wait(using)
        pipe.producer_acquire(filling)
        if tile + stages - 1 < tiles:
            from_x.fetch(tile + stages - 1, filling.index)
            from_w.fetch(tile + stages - 1, filling.index)
        pipe.producer_commit(filling)
        filling.advance()
        for i in tt.range_constexpr(cute.size(rows, mode=[2])):
            cute.copy(load_x, parts_x[None, None, i, using.index], rows_to_load[None, None, i])
            cute.copy(load_w, parts_w[None, None, i, using.index], columns_to_load[None, None, i])
            cute.gemm(mma, sums, rows[None, None, i], columns[None, None, i], sums)
        pipe.consumer_release(using)
        using.advance()

    for i in tt.range_constexpr(cute.size(sums)):
        if cute.elem_less(where[i], y.shape):
            part_y[i] = epilogue(sums[i], *where[i]).to(y.element_type)


PLAIN, USUAL = Epilogue(), Tiling()


@tt.jit
def gemm(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, epilogue: Any = PLAIN, tiling: tt.Constexpr = USUAL) -> None:
    rows, columns = cute.ceil_div(y.shape, (tiling.m, tiling.n))
    gemm_kernel(x, w, y, epilogue, tiling).launch(grid=(columns, rows), block=tiling.threads)


def operand_of(array: np.ndarray) -> Any:
    """An array of any number of rows whose rows are whole vectors of 16 bytes."""
    vector = 16 // array.itemsize
    tensor = from_dlpack(array, assumed_align=16)
    return tensor.mark_compact_shape_dynamic(0, (0, 1)).mark_compact_shape_dynamic(1, (0, 1), divisibility=vector)


TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "fp8": ml_dtypes.float8_e4m3fn}


def numbers(shape: tuple[int, int], dtype: Any, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)


def biased(n: int) -> Then:
    return Then(Bias(numbers((1, n), np.float32, 2)[0]), ReLU())


EPILOGUES = {
    "f16": lambda n: PLAIN,
    "bf16": lambda n: ReLU(),
    "fp8": biased,
}
"""What each type's case does with its sums."""
CASES = {
    **{name: {"name": name} for name in EPILOGUES},
    "fewer tiles than stages": {"k": 16},
    **{f"large {name}": {"name": name, "m": 512, "n": 512, "k": 512, "bench": True} for name in ("f16", "bf16")},
}


def kernel_fn(x: np.ndarray, w: np.ndarray, name: str) -> np.ndarray:
    y = np.empty((len(x), len(w)), np.float32)
    gemm(operand_of(x), operand_of(w), y, EPILOGUES[name](len(w)))
    return y


def reference_fn(x: np.ndarray, w: np.ndarray, name: str) -> np.ndarray:
    wide = np.float64 if x.dtype == np.float64 else np.float32
    y = x.astype(wide) @ w.astype(wide).T
    if name == "fp8":
        y = y + numbers((1, len(w)), np.float32, 2)[0]
    return y if name == "f16" else np.maximum(y, 0)


baseline_fn = reference_fn


def error_bound(x: np.ndarray, w: np.ndarray, name: str) -> np.ndarray:
    """k roundings of the summands to float32, and one of the epilogue."""
    wide_x, wide_w = x.astype(np.float64), w.astype(np.float64)
    summands = (x.shape[1] + 1) * 2.0**-24 * (np.abs(wide_x) @ np.abs(wide_w).T)
    return summands + 2.0**-23 * np.abs(reference_fn(wide_x, wide_w, name)) + 1e-30


def get_inputs(m: int = 200, n: int = 150, k: int = 208, name: str = "f16", seed: int = 0) -> list[object]:
    return [numbers((m, k), TYPES[name], 2 * seed), numbers((n, k), TYPES[name], 2 * seed + 1), name]


def algorithmic_flops_bytes(x: np.ndarray, w: np.ndarray, name: str) -> tuple[int, int]:
    return 2 * x.size * len(w), x.nbytes + w.nbytes + 4 * len(x) * len(w)


workbench.main(__name__)
