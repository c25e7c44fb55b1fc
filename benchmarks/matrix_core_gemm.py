"""A GEMM by AMD's matrix instructions on the CPU with 64 lanes, beside the tensor-core GEMM of the examples.

    TRIPTYCH_THREADS=1 python -m benchmarks.matrix_core_gemm [--json]

Both have the same tiles, copies from global memory and pipeline, and multiply the same numbers, which are whole: the
results are compared to the bit. Times are of the processor, and a ratio is that of the fastest rounds. For Int8, which
the example does not multiply, the peer is the program here with the instruction of sm_80. `gemm` is what tests use, for
any operation.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import triptych as tt
from benchmarks.matrix_rounds import example
from benchmarks.rows import Row, run
from triptych import cute, pipeline
from triptych.cute import amdgpu, nvgpu
from triptych.cute.nvgpu import warp

SHARED: Any = example("tensor_core_gemm")
"""Copies from global to shared memory are those of the example."""
ROUNDS, CALLS, SIDE = 31, 3, 512
VECTOR_BYTES = 16


@dataclass(frozen=True)
class Tiling:
    """The tile of a block (k in bytes), the tiles in flight, and the waves along m and n."""

    m: int = 128
    n: int = 128
    k_bytes: int = 64
    stages: int = 3
    waves: tuple[int, int] = (2, 2)


def product(op: cute.MmaOperation, waves: tuple[int, int]) -> cute.TiledMma:
    """The instruction over the waves. A thread has neighbours along k: those of as many instructions as make 16 bytes,
    so that one load brings them. Of NVIDIA's instructions, 16 columns at once, for `ldmatrix`."""
    m, n, k = op.shape_mnk
    if isinstance(op, warp.WarpMmaOp):
        return cute.make_tiled_mma(op, (*waves, 1), (waves[0] * m, waves[1] * n * 2, k))
    run = cute.size(op.tv_layout_A, mode=[1])
    groups, joined = k // run, max(8 * VECTOR_BYTES // (op.a_dtype.width * run), 1)
    along_k = cute.make_layout((run, groups, joined), stride=(1, run * joined, run))
    return cute.make_tiled_mma(op, (*waves, 1), (waves[0] * m, waves[1] * n, along_k))


def load_of(op: cute.MmaOperation) -> cute.CopyAtom:
    """From shared memory: AMD's threads load what they hold."""
    if isinstance(op, warp.WarpMmaOp):
        found: cute.CopyAtom = SHARED.load_of(op.a_dtype)
        return found
    return cute.make_copy_atom(nvgpu.CopyUniversalOp(), op.a_dtype, num_bits_per_copy=8 * VECTOR_BYTES)


@tt.kernel
def gemm_kernel(
    x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, op: tt.Constexpr[Any], tiling: tt.Constexpr[Any]
) -> None:
    """`x` is (m, k), `w` is (n, k), `y` is (m, n)."""
    dtype, stages = x.element_type, tiling.stages
    m, n, k = tiling.m, tiling.n, tiling.k_bytes * 8 // dtype.width
    mma = product(op, tiling.waves)
    thread, _, _ = cute.arch.thread_idx()
    column, row, _ = cute.arch.block_idx()
    smem = cute.SmemAllocator()
    tile_x, tile_w = [
        smem.allocate_tensor(dtype, SHARED.swizzled(dtype, rows, k, stages), byte_alignment=1024) for rows in (m, n)
    ]
    from_x = SHARED.operand(x, row, tile_x, mma.size)
    from_w = SHARED.operand(w, column, tile_w, mma.size)
    cute.arch.sync_threads()  # the zeros are there

    mine = mma.get_slice(thread)
    rows = mma.make_fragment_A(mine.partition_A(tile_x)[None, None, None, 0])
    columns = mma.make_fragment_B(mine.partition_B(tile_w)[None, None, None, 0])
    load_x, load_w = cute.make_tiled_copy_A(load_of(op), mma), cute.make_tiled_copy_B(load_of(op), mma)
    parts_x, parts_w = load_x.get_slice(thread).partition_S(tile_x), load_w.get_slice(thread).partition_S(tile_w)
    rows_to_load, columns_to_load = load_x.retile(rows), load_w.retile(columns)
    part_y = mine.partition_C(cute.local_tile(y, (m, n), (row, column)))
    where = mine.partition_C(cute.local_tile(cute.make_identity_tensor(y.shape), (m, n), (row, column)))
    sums = mma.make_fragment_C(part_y)
    sums.fill(0)

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
    steps = cute.size(rows_to_load, mode=[2])
    for tile in range(tiles):
        pipe.consumer_wait(using)
        pipe.producer_acquire(filling)
        if tile + stages - 1 < tiles:
            from_x.fetch(tile + stages - 1, filling.index)
            from_w.fetch(tile + stages - 1, filling.index)
        pipe.producer_commit(filling)
        filling.advance()
        for i in tt.range_constexpr(steps):
            cute.copy(load_x, parts_x[None, None, i, using.index], rows_to_load[None, None, i])
            cute.copy(load_w, parts_w[None, None, i, using.index], columns_to_load[None, None, i])
        cute.gemm(mma, sums, rows, columns, sums)
        pipe.consumer_release(using)
        using.advance()

    for i in tt.range_constexpr(cute.size(sums)):
        if cute.elem_less(where[i], y.shape):
            part_y[i] = sums[i]


USUAL = Tiling()


@tt.jit
def gemm(
    x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, op: tt.Constexpr[Any], tiling: tt.Constexpr[Any] = USUAL
) -> None:
    rows, columns = cute.ceil_div(y.shape, (tiling.m, tiling.n))
    threads = product(op, tiling.waves).size
    gemm_kernel(x, w, y, op, tiling).launch(grid=(columns, rows), block=threads)


Numbers = np.ndarray[Any, Any]


def whole_numbers(shape: tuple[int, int], dtype: Any, seed: int) -> Numbers:
    """Their products and sums are exact in every type."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32).astype(dtype)


def exact(x: Numbers, w: Numbers) -> Numbers:
    return x.astype(np.float64) @ w.astype(np.float64).T


@dataclass(frozen=True)
class Program:
    """A product of matrices of one type: by an operation, or the example's."""

    dtype: Any
    op: Any
    target: str = "cpu:64"

    def bound(self, side: int = SIDE) -> Callable[[], Numbers]:
        """The program, compiled: a call multiplies once, and gives what it has computed."""
        sums = np.zeros((side, side), np.int32 if self.dtype is np.int8 else np.float32)
        x, w = (SHARED.operand_of(each) for each in self.factors(side))
        function, static = (SHARED.gemm, ()) if self.op is None else (gemm, (self.op,))
        made = tt.compile(function, x, w, sums, *static, target=self.target)

        def multiply() -> Numbers:
            made(x, w, sums)
            return sums

        return multiply

    def factors(self, side: int = SIDE) -> list[Numbers]:
        return [whole_numbers((side, side), self.dtype, seed) for seed in (1, 2)]


FNUZ, OCP = ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e4m3fn
PAIRS = {
    "f16": (Program(np.float16, amdgpu.MFMA(32, 32, 8, tt.Float16)), Program(np.float16, None, "cpu")),
    "f16, 16x16x16": (Program(np.float16, amdgpu.MFMA(16, 16, 16, tt.Float16)), Program(np.float16, None, "cpu")),
    "bf16": (
        Program(ml_dtypes.bfloat16, amdgpu.MFMA(32, 32, 8, tt.BFloat16)),
        Program(ml_dtypes.bfloat16, None, "cpu"),
    ),
    "int8": (
        Program(np.int8, amdgpu.MFMA(32, 32, 16, tt.Int8)),
        Program(np.int8, warp.MmaI8Op(tt.Int8, tt.Int32, (16, 8, 32)), "cpu"),
    ),
    "fp8": (Program(FNUZ, amdgpu.MFMA(32, 32, 16, tt.Float8E4M3FNUZ)), Program(OCP, None, "cpu")),
}
"""By MFMA, and by the instruction of sm_80 for the same types."""
BAR = 1 / 0.9


def seconds(run_: Callable[[], Numbers]) -> float:
    start = time.process_time()
    for _ in range(CALLS):
        run_()
    return (time.process_time() - start) / CALLS


def rows_of(name: str, ours: Program, peer: Program) -> Iterator[Row]:
    runs = [program.bound() for program in (ours, peer)]
    both = zip(runs, (ours, peer), strict=True)
    wrong = sum(int((run_() != exact(*program.factors())).sum()) for run_, program in both)
    yield Row(f"{name}: wrong numbers of both", wrong, "numbers", 0)
    times = [[seconds(run_) for run_ in runs] for _ in range(ROUNDS)]
    mine, theirs = (min(each) for each in zip(*times, strict=True))
    for what, fastest in (("MFMA", mine), ("sm_80", theirs)):
        yield Row(f"{name}: {what}", 2e-9 * SIDE**3 / fastest, "GFLOP/s")
    yield Row(f"{name}: time of MFMA / sm_80", mine / theirs, "times", BAR)


def measure() -> Sequence[Row]:
    return [row for name, pair in PAIRS.items() for row in rows_of(name, *pair)]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
