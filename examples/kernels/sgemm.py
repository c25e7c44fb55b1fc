"""c = a @ b for f32, as GPUs without tensor cores like it: a buffer of several tiles, filled while others are used.

A block computes a tile of `c`, and walks along k. Its threads copy tiles of `a` and `b` to shared memory with
instructions that do not wait (`cp.async`); a pipeline says when a tile has arrived and when its place is free. Each
thread then multiplies the 4 x 4 numbers that meet in it, several times, in registers: `MmaUniversalOp` is one multiply-
add, and a tiled product repeats it over the threads and over the numbers of each.

No extent has to be a multiple of its tile: copies that would leave a matrix do nothing, and shared memory starts as
zeros. Along k the *first* tile is the short one, so that only its copies have to look at k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import triptych as tt
from triptych import cute, pipeline, workbench
from triptych.cute import nvgpu

SIDE = 16
THREADS = SIDE * SIDE
VALUES = 4
"""Numbers side by side of each thread, in rows and in columns."""


@dataclass(frozen=True)
class Tiling:
    """The tile of a block, and how many tiles of `a` and `b` are in shared memory."""

    m: int = 128
    n: int = 128
    k: int = 8
    stages: int = 3


def product() -> cute.TiledMma:
    """16 x 16 threads, each with 4 neighbouring rows and columns of every 64."""
    neighbours = cute.make_layout((SIDE, VALUES), stride=(VALUES, 1))
    atoms = cute.make_layout((SIDE, SIDE, 1), stride=(SIDE, 1, 0))
    return cute.make_tiled_mma(nvgpu.MmaUniversalOp(tt.Float32), atoms, (neighbours, neighbours, None))


def copies(threads: cute.Layout) -> cute.TiledCopy:
    """One number for each thread at a time."""
    atom = cute.make_copy_atom(nvgpu.cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=32)
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 1)))


def buffer(rows: int, depth: int, stages: int) -> cute.Tensor:
    """Tiles with their rows side by side, a few numbers apart so that a copied column meets all banks."""
    step = rows + VALUES
    layout = cute.make_layout((rows, depth, stages), stride=(1, step, step * depth))
    return cute.SmemAllocator().allocate_tensor(tt.Float32, layout, byte_alignment=16)


@dataclass(frozen=True)
class Operand:
    """What a thread copies of one matrix (rows, k): tiles one after the other, into the stages of a buffer."""

    copy: cute.TiledCopy
    source: cute.Tensor
    target: cute.Tensor
    in_rows: cute.Tensor
    """For each copy of a tile whether it stays in the matrix."""
    in_rows_and_k: cute.Tensor
    """The same for the first tile."""

    def fetch(self, tile: tt.Int32, stage: tt.Int32) -> None:
        self.start(tile, stage, self.in_rows)

    def fetch_first(self, stage: tt.Int32) -> None:
        self.start(0, stage, self.in_rows_and_k)

    def start(self, tile: tt.Int32, stage: tt.Int32, allowed: cute.Tensor) -> None:
        source, target = self.source[None, None, None, tile], self.target[None, None, None, stage]
        cute.copy(self.copy, source, target, pred=allowed)


def operand(
    matrix: cute.Tensor, block: tt.Int32, tile: tuple[int, int], copy: cute.TiledCopy, shared: cute.Tensor
) -> Operand:
    thread, _, _ = cute.arch.thread_idx()
    mine = copy.get_slice(thread)
    missing = matrix.shape[1] - cute.ceil_div(matrix.shape[1], tile[1]) * tile[1]
    tiles, where = [
        cute.domain_offset((0, missing, 0), cute.local_tile(tensor, tile, (block, None)))
        for tensor in (matrix, cute.make_identity_tensor(matrix.shape))
    ]
    target = mine.partition_D(shared)
    target.fill(0.0)
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


@tt.kernel
def sgemm_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tiling: tt.Constexpr) -> None:
    """`a` is (m, k), `b` is (n, k), `c` is (m, n)."""
    m, n, k, stages = tiling.m, tiling.n, tiling.k, tiling.stages
    thread, _, _ = cute.arch.thread_idx()
    column, row, _ = cute.arch.block_idx()
    tile_a, tile_b = buffer(m, k, stages), buffer(n, k, stages)
    from_a = operand(a, row, (m, k), copies(cute.make_layout((THREADS // k, k), stride=(k, 1))), tile_a)
    from_b = operand(b, column, (n, k), copies(cute.make_layout((min(n, THREADS), max(1, THREADS // n)))), tile_b)
    cute.arch.sync_threads()  # the zeros are there

    mma = product()
    mine = mma.get_slice(thread)
    parts_a, parts_b = mine.partition_A(tile_a), mine.partition_B(tile_b)
    part_c = mine.partition_C(cute.local_tile(c, (m, n), (row, column)))
    where = mine.partition_C(cute.local_tile(cute.make_identity_tensor(c.shape), (m, n), (row, column)))
    rows = mma.make_fragment_A(parts_a[None, None, 0, 0])
    columns = mma.make_fragment_B(parts_b[None, None, 0, 0])
    sums = mma.make_fragment_C(part_c)
    sums.fill(0.0)

    everybody = pipeline.CooperativeGroup(pipeline.Agent.ThreadBlock)
    pipe = pipeline.PipelineCpAsync.create(num_stages=stages, producer_group=everybody, consumer_group=everybody)
    filling = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
    using = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)
    tiles = cute.ceil_div(a.shape[1], k)
    for tile in tt.range_constexpr(stages - 1):
        pipe.producer_acquire(filling)
        if tt.const_expr(tile == 0):
            from_a.fetch_first(filling.index)
            from_b.fetch_first(filling.index)
        elif tile < tiles:
            from_a.fetch(tile, filling.index)
            from_b.fetch(tile, filling.index)
        pipe.producer_commit(filling)
        filling.advance()
    for tile in range(tiles):
        pipe.consumer_wait(using)
        pipe.producer_acquire(filling)
        if tile + stages - 1 < tiles:
            from_a.fetch(tile + stages - 1, filling.index)
            from_b.fetch(tile + stages - 1, filling.index)
        pipe.producer_commit(filling)
        filling.advance()
        for i in tt.range_constexpr(k):
            cute.autovec_copy(parts_a[None, None, i, using.index], rows)
            cute.autovec_copy(parts_b[None, None, i, using.index], columns)
            cute.gemm(mma, sums, rows, columns, sums)
        pipe.consumer_release(using)
        using.advance()

    for i in tt.range_constexpr(cute.size(sums)):
        if cute.elem_less(where[i], c.shape):
            part_c[i] = sums[i]


USUAL = Tiling()


@tt.jit
def sgemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tiling: tt.Constexpr = USUAL) -> None:
    rows, columns = cute.ceil_div(c.shape, (tiling.m, tiling.n))
    b_by_n = cute.select(b, mode=[1, 0])  # the same memory, seen as (n, k)
    sgemm_kernel(a, b_by_n, c, tiling).launch(grid=(columns, rows), block=THREADS)


CASES = {
    **{f"{m} x {n} x {k}": {"m": m, "n": n, "k": k} for m, n, k in ((1, 1, 1), (128, 128, 8), (300, 200, 257))},
    "large": {"m": 512, "n": 512, "k": 512, "bench": True},
}


def kernel_fn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)
    sgemm(a, b, c)
    return c


def reference_fn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b


baseline_fn = reference_fn


def error_bound(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """When every sum is rounded to float32: k roundings of 2**-24 of the summands."""
    return (a.shape[1] + 1) * 2.0**-24 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))) + 1e-30


def get_inputs(m: int = 130, n: int = 70, k: int = 32, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.standard_normal((m, k), np.float32), random.standard_normal((k, n), np.float32)]


def algorithmic_flops_bytes(a: np.ndarray, b: np.ndarray) -> tuple[int, int]:
    return 2 * a.size * b.shape[1], a.nbytes + b.nbytes + 4 * a.shape[0] * b.shape[1]


workbench.main(__name__)
