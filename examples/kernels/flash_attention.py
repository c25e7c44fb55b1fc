"""o = softmax(q @ k.T / sqrt(d)) @ v without the matrix of scores: attention forward, causal or not.

A block takes 64 queries of one head and walks over the keys in tiles. For each tile it multiplies on tensor cores,
turns scores into weights, and adds the weighted values. A row's largest score is not known before its end; so sums are
kept relative to the largest score *so far*, and are scaled down when a larger one comes (`online softmax`).

- The queries stay in registers. Keys and values of the next tile are copied while this one is computed.
- The scores of the first product are, as they lie in the registers of the threads, operand A of the second one:
  a layout says so, and no number moves.
- Tiles that end after the last key, or on the diagonal of a causal mask, are computed by another copy of the same code
  that also masks. `masked` is a Python bool: most tiles do not look at the mask.

Exponentials are powers of two, with log2(e) in the scale: that is one instruction of a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log2, sqrt
from typing import Any

import ml_dtypes
import numpy as np

import triptych as tt
from triptych import cute, pipeline, workbench
from triptych.cute import nvgpu
from triptych.cute.nvgpu import cpasync, warp
from triptych.cute.runtime import from_dlpack

WARPS = 4
THREADS = 32 * WARPS
QUERIES = 16 * WARPS
PIECE = 8
"""Elements of a copy of 16 bytes."""
STAGES = 2


def product(dtype: type[tt.Numeric]) -> cute.TiledMma:
    """Each warp has 16 rows, so that a row of scores never leaves its warp."""
    op = warp.MmaF16BF16Op(dtype, tt.Float32, (16, 8, 16))
    return cute.make_tiled_mma(op, (WARPS, 1, 1), (QUERIES, 16, 16))


def swizzled(rows: int, dim: int, *stages: int) -> cute.ComposedLayout:
    """(rows, dim, ...) with neighbours along dim; pieces of 16 bytes are permuted by the number of their row."""
    wide = next(width for width in (64, 32, 16) if dim % width == 0)
    swizzle = cute.make_swizzle((wide // PIECE).bit_length() - 1, 3, 3)
    atom = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, wide), stride=(wide, 1)))
    return cute.tile_to_shape(atom, (rows, dim, *stages), (0, 1, 2)[: 2 + len(stages)])


def load(dtype: type[tt.Numeric], transpose: bool) -> cute.CopyAtom:
    return cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose, 4), dtype)


@dataclass(frozen=True)
class Rows:
    """What a thread copies of one matrix (rows, dim), a tile at a time."""

    copy: cute.TiledCopy
    source: cute.Tensor
    target: cute.Tensor
    where: cute.Tensor
    length: Any

    def fetch(self, tile: Any, *stage: Any) -> None:
        """Start the copies of a tile; rows after the last one stay as they are."""
        where = self.where[None, None, None, tile]
        count, across = cute.size(where, mode=[1]), cute.size(where, mode=[2])
        allowed = cute.make_rmem_tensor(cute.make_layout((1, count, across), stride=(0, 1, 0)), tt.Boolean)
        for i in tt.range_constexpr(count):
            allowed[0, i, 0] = where[0, i, 0][0] < self.length
        target = self.target[None, None, None, *stage]
        cute.copy(self.copy, self.source[None, None, None, tile], target, pred=allowed)


def rows_of(matrix: cute.Tensor, shared: cute.Tensor, rows: int, dim: int) -> Rows:
    thread, _, _ = cute.arch.thread_idx()
    op = cpasync.CopyG2SOp(cache_mode=nvgpu.LoadCacheMode.GLOBAL)
    atom = cute.make_copy_atom(op, matrix.element_type, num_bits_per_copy=128)
    across = min(dim // PIECE, 8)
    lie = cute.make_layout((THREADS // across, across), stride=(across, 1))
    copy = cute.make_tiled_copy_tv(atom, lie, cute.make_layout((1, PIECE)))
    mine = copy.get_slice(thread)
    tiles, where = [
        cute.local_tile(tensor, (rows, dim), (None, 0)) for tensor in (matrix, cute.make_identity_tensor(matrix.shape))
    ]
    target = mine.partition_D(shared)
    target.fill(0.0)
    return Rows(copy, mine.partition_S(tiles), target, mine.partition_S(where), matrix.shape[0])


def by_rows(fragment: cute.Tensor) -> cute.Tensor:
    """A fragment of sums ((2 columns, 2 rows), tiles down, tiles across) as a matrix (rows, columns)."""
    (columns, rows), down, across = fragment.layout.shape
    (to_column, to_row), to_down, to_across = fragment.layout.stride
    layout = cute.make_layout(((rows, down), (columns, across)), stride=((to_row, to_down), (to_column, to_across)))
    return cute.make_tensor(fragment.iterator, layout)


def as_left_factor(fragment: cute.Tensor) -> cute.Tensor:
    """A fragment of the accumulator, seen as operand A of an MMA: two tiles of 8 columns are one of 16 k."""
    values, down, across = fragment.layout.shape
    steps, to_down, to_across = fragment.layout.stride
    layout = cute.make_layout(((*values, 2), down, across // 2), stride=((*steps, to_across), to_down, 2 * to_across))
    return cute.make_tensor(fragment.iterator, layout)


@dataclass(frozen=True)
class Softmax:
    """What is known of each row so far: its largest score, and the sum of its weights."""

    scale: Any
    largest: cute.Tensor
    total: cute.Tensor

    def weigh(self, scores: cute.Tensor, output: cute.Tensor) -> None:
        """Scores become weights; what was summed before is made relative to the new largest scores."""
        for row in tt.range_constexpr(cute.size(self.largest)):
            line = scores[row, None].load()
            before = self.largest[row]
            largest = cute.arch.fmax(before, line.reduce(cute.ReductionOp.MAX, tt.Float32.neg_inf, 0))
            largest = cute.arch.warp_reduction_max(largest, threads_in_group=4)
            weights = cute.math.exp2(line * self.scale - largest * self.scale, fastmath=True)
            factor = cute.math.exp2((before - largest) * self.scale, fastmath=True)
            self.largest[row] = largest
            self.total[row] = self.total[row] * factor + weights.reduce(cute.ReductionOp.ADD, 0.0, 0)
            scores[row, None] = weights
            output[row, None] = output[row, None].load() * factor

    def finish(self, output: cute.Tensor) -> None:
        for row in tt.range_constexpr(cute.size(self.total)):
            total = cute.arch.warp_reduction_sum(self.total[row], threads_in_group=4)
            output[row, None] = output[row, None].load() * (1.0 / total)


@tt.kernel
def attention_kernel(
    q: cute.Tensor,
    k: cute.Tensor,
    v: cute.Tensor,
    o: cute.Tensor,
    scale: tt.Float32,
    causal: tt.Constexpr,
    keys: tt.Constexpr,
) -> None:
    """Tensors are (batch, sequence, head, dim); a block is (64 queries, head, batch)."""
    thread, _, _ = cute.arch.thread_idx()
    block, head, batch = cute.arch.block_idx()
    q, k, v, o = [tensor[batch, None, head, None] for tensor in (q, k, v, o)]
    dtype, dim = q.element_type, q.shape[1]
    smem = cute.SmemAllocator()
    tile_q = smem.allocate_tensor(dtype, swizzled(QUERIES, dim), byte_alignment=1024)
    tile_k = smem.allocate_tensor(dtype, swizzled(keys, dim, STAGES), byte_alignment=1024)
    tile_v = smem.allocate_tensor(dtype, swizzled(keys, dim, STAGES), byte_alignment=1024)
    from_q, from_k, from_v = (
        rows_of(q, tile_q, QUERIES, dim),
        rows_of(k, tile_k, keys, dim),
        rows_of(v, tile_v, keys, dim),
    )
    cute.arch.sync_threads()  # the zeros are there

    mma = product(dtype)
    mine = mma.get_slice(thread)
    v_by_dim = cute.select(tile_v, mode=[1, 0, 2])  # (dim, keys, stages): operand B of weights @ v
    queries = mma.make_fragment_A(mine.partition_A(tile_q))
    some_keys = mma.make_fragment_B(mine.partition_B(tile_k)[None, None, None, 0])
    values = mma.make_fragment_B(mine.partition_B(v_by_dim)[None, None, None, 0])
    scores = cute.make_rmem_tensor(mma.partition_shape_C((QUERIES, keys)), tt.Float32)
    output = cute.make_rmem_tensor(mma.partition_shape_C((QUERIES, dim)), tt.Float32)
    output.fill(0.0)
    load_q = cute.make_tiled_copy_A(load(dtype, False), mma)
    load_k = cute.make_tiled_copy_B(load(dtype, False), mma)
    load_v = cute.make_tiled_copy_B(load(dtype, True), mma)
    parts_k, parts_v = load_k.get_slice(thread).partition_S(tile_k), load_v.get_slice(thread).partition_S(v_by_dim)
    keys_to_load, values_to_load = load_k.retile(some_keys), load_v.retile(values)

    rows = by_rows(scores).shape[0]
    softmax = Softmax(
        scale, cute.make_rmem_tensor(cute.size(rows), tt.Float32), cute.make_rmem_tensor(cute.size(rows), tt.Float32)
    )
    softmax.largest.fill(tt.Float32.neg_inf)
    softmax.total.fill(0.0)
    where = by_rows(mine.partition_C(cute.make_identity_tensor((QUERIES, keys))))

    everybody = pipeline.CooperativeGroup(pipeline.Agent.ThreadBlock)
    pipe = pipeline.PipelineCpAsync.create(num_stages=STAGES, producer_group=everybody, consumer_group=everybody)
    filling = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
    using = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)

    def fetch(tile: Any) -> None:
        pipe.producer_acquire(filling)
        from_k.fetch(tile, filling.index)
        from_v.fetch(tile, filling.index)
        pipe.producer_commit(filling)
        filling.advance()

    def attend(tile: Any, tiles: Any, masked: bool) -> None:
        pipe.consumer_wait(using)
        if tile + 1 < tiles:
            fetch(tile + 1)
        scores.fill(0.0)
        for i in tt.range_constexpr(cute.size(queries, mode=[2])):
            cute.copy(load_k, parts_k[None, None, i, using.index], keys_to_load[None, None, i])
            cute.gemm(mma, scores, queries[None, None, i], some_keys[None, None, i], scores)
        matrix = by_rows(scores)
        if tt.const_expr(masked):
            for i in tt.range_constexpr(cute.size(where)):
                query, key = where[i]
                key = key + tile * keys
                seen = key < k.shape[0] and key <= query + block * QUERIES if causal else key < k.shape[0]
                matrix[i] = matrix[i] if seen else tt.Float32.neg_inf
        softmax.weigh(matrix, by_rows(output))
        weights = cute.make_fragment_like(scores, dtype)
        weights.store(scores.load().to(dtype))
        factor = as_left_factor(weights)
        for i in tt.range_constexpr(cute.size(factor, mode=[2])):
            cute.copy(load_v, parts_v[None, None, i, using.index], values_to_load[None, None, i])
            cute.gemm(mma, output, factor[None, None, i], values[None, None, i], output)
        pipe.consumer_release(using)
        using.advance()

    from_q.fetch(block)
    cute.arch.cp_async_commit_group()
    tiles = cute.ceil_div(k.shape[0], keys)
    whole = k.shape[0] // keys
    if tt.const_expr(causal):
        first, last = block * QUERIES, (block + 1) * QUERIES
        tiles = min(tiles, cute.ceil_div(last, keys))
        whole = min(whole, (first + 1) // keys)
    fetch(0)
    cute.arch.cp_async_wait_group(1)
    cute.arch.sync_threads()
    cute.copy(load_q, load_q.get_slice(thread).partition_S(tile_q), load_q.retile(queries))
    for tile in range(whole):
        attend(tile, tiles, False)
    for tile in range(whole, tiles):
        attend(tile, tiles, True)

    result = by_rows(output)
    softmax.finish(result)
    part, at = [
        by_rows(mine.partition_C(cute.local_tile(tensor, (QUERIES, dim), (block, 0))))
        for tensor in (o, cute.make_identity_tensor(o.shape))
    ]
    rounded = cute.make_fragment_like(result, dtype)
    rounded.store(result.load().to(dtype))
    for row in tt.range_constexpr(cute.size(softmax.total)):
        if at[row, 0][0] < o.shape[0]:
            cute.autovec_copy(rounded[row, None], part[row, None])


@tt.jit
def attention(
    q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, o: cute.Tensor, causal: tt.Constexpr, keys: tt.Constexpr = 64
) -> None:
    batch, length, heads, dim = q.shape
    scale = log2(e) / sqrt(dim)
    grid = cute.ceil_div(length, QUERIES), heads, batch
    attention_kernel(q, k, v, o, scale, causal, keys).launch(grid=grid, block=THREADS)


def tensor_of(array: np.ndarray) -> Any:
    """(batch, sequence, head, dim), of which only dim is part of the program."""
    tensor = from_dlpack(array, assumed_align=16)
    for mode in range(3):
        tensor = tensor.mark_compact_shape_dynamic(mode, stride_order=(0, 1, 2, 3))
    return tensor


ROUNDING = {np.float16: 2.0**-11, ml_dtypes.bfloat16: 2.0**-8}


def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    q, k, v = (x.astype(np.float64).transpose(0, 2, 1, 3) for x in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / sqrt(q.shape[-1])
    if causal:
        seen = np.arange(scores.shape[-1]) <= np.arange(scores.shape[-2])[:, None]
        scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)


def bound(v: np.ndarray) -> float:
    """Weights and results are rounded to the type of the tensors, sums to float32: 1/8 more covers the latter."""
    return 2.125 * ROUNDING[v.dtype.type] * float(np.abs(v.astype(np.float64)).max())


def sample(shape: tuple[int, int, int, int], keys: int, dtype: Any = np.float16, seed: int = 0) -> list[np.ndarray]:
    batch, length, heads, dim = shape
    random = np.random.default_rng(seed)
    lengths = length, keys, keys
    return [random.standard_normal((batch, n, heads, dim), np.float32).astype(dtype) for n in lengths]


def flops(shape: tuple[int, int, int, int], keys: int, causal: bool) -> int:
    """Of the two products; of a causal mask only half."""
    batch, length, heads, dim = shape
    return 4 * batch * heads * length * keys * dim // (2 if causal else 1)


CASES = {
    "f16": {"batch": 1, "length": 64, "heads": 1, "keys": 64},
    "f16, two batches": {},
    "bf16, causal": {"dtype": ml_dtypes.bfloat16, "causal": True},
    "large": {"batch": 1, "length": 512, "heads": 2, "keys": 512, "bench": True},
}


def kernel_fn(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    o = np.empty_like(q)
    attention(*map(tensor_of, (q, k, v, o)), causal)
    return o


def reference_fn(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    return reference(q, k, v, causal).astype(q.dtype)


def error_bound(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    return np.broadcast_to(bound(v), q.shape)


def get_inputs(
    batch: int = 2,
    length: int = 100,
    heads: int = 3,
    keys: int = 130,
    dtype: type = np.float16,
    causal: bool = False,
    seed: int = 0,
) -> list[object]:
    return [*sample((batch, length, heads, 64), keys, dtype, seed), causal]


def algorithmic_flops_bytes(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> tuple[int, int]:
    return flops(q.shape, k.shape[1], causal), 2 * q.nbytes + k.nbytes + v.nbytes


workbench.main(__name__)
