"""Values of AMD's matrix instructions without a card: products of tiles by the LLVM IR for AMD, on an OpenCL runtime.

    python -m benchmarks.amd_matrix_values

As `benchmarks.amd_values`. Each instruction is a function that shuffles by the layouts of
AMD's calculator, so what is judged is how a kernel deals its matrices to lanes, and which registers go where: of one
wave out of global memory, and of one and of four waves that copy tiles into LDS, several in flight. Not here: BFloat16,
which the runtime does not load.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import triptych as tt
from benchmarks.amd_values import NAMES, target_of
from benchmarks.matrix_core_gemm import SHARED, Tiling, exact, gemm, whole_numbers
from triptych import cute
from triptych.cute import amdgpu
from triptych.cute.runtime import from_dlpack
from triptych.objectstage.target import TARGETS, TargetFamily

CASES: dict[str, tuple[Any, Any]] = {
    "gfx942: Float32": (np.float32, amdgpu.MFMA(16, 16, 4, tt.Float32)),
    "gfx942: Float16, 16x16x16": (np.float16, amdgpu.MFMA(16, 16, 16, tt.Float16)),
    "gfx942: Float16, 32x32x8": (np.float16, amdgpu.MFMA(32, 32, 8, tt.Float16)),
    "gfx942: Int8": (np.int8, amdgpu.MFMA(16, 16, 32, tt.Int8)),
    "gfx1100: Float16": (np.float16, amdgpu.WMMA(16, 16, 16, tt.Float16, generation=11)),
    "gfx1201: Float16": (np.float16, amdgpu.WMMA(16, 16, 16, tt.Float16)),
    "gfx1201: Int8": (np.int8, amdgpu.WMMA(16, 16, 16, tt.Int8)),
}


TILINGS = (Tiling(32, 32, waves=(1, 1)), Tiling(32, 32, stages=2, waves=(1, 1)), Tiling(64, 64, waves=(2, 2)))
TILED: dict[str, Any] = {
    "gfx942": amdgpu.MFMA(16, 16, 16, tt.Float16),
    "gfx950": amdgpu.MFMA(16, 16, 16, tt.Float16),
    "gfx1201": amdgpu.WMMA(16, 16, 16, tt.Float16),
}


@tt.kernel
def product_kernel(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, op: tt.Constexpr[Any]) -> None:
    """A wave multiplies slice after slice of k, out of global memory."""
    thread, _, _ = cute.arch.thread_idx()
    m, n, k = op.shape_mnk
    mma = cute.make_tiled_mma(op)
    mine = mma.get_slice(thread)
    part_x = mine.partition_A(cute.local_tile(x, (2 * m, k), (0, None)))
    part_w = mine.partition_B(cute.local_tile(w, (n, k), (0, None)))
    part_y = mine.partition_C(y)
    rows = mma.make_fragment_A(part_x[None, None, None, 0])
    columns = mma.make_fragment_B(part_w[None, None, None, 0])
    sums = mma.make_fragment_C(part_y)
    sums.fill(0)
    for i in tt.range(x.shape[1] // k, unroll=1):
        cute.basic_copy(part_x[None, None, None, i], rows)
        cute.basic_copy(part_w[None, None, None, i], columns)
        cute.gemm(mma, sums, rows, columns, sums)
    cute.basic_copy(sums, part_y)


@tt.jit
def product(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, op: tt.Constexpr[Any]) -> None:
    product_kernel(x, w, y, op).launch(grid=1, block=cute.arch.num_warp_threads())


def is_right(kind: Any, op: Any, chip: str) -> bool:
    """Two tiles along M, one along N, five slices of k."""
    m, n, k = op.shape_mnk
    x, w = whole_numbers((2 * m, 5 * k), kind, 1), whole_numbers((n, 5 * k), kind, 2)
    y = np.full((2 * m, n), 7, np.int32 if kind is np.int8 else np.float32)
    tensors = [from_dlpack(array) for array in (x, w, y)]
    tt.compile(product, *tensors, op, target=f"amdvalues:{chip}")(*tensors)
    return bool((y == exact(x, w)).all())


def is_tiled_right(op: Any, chip: str, tiling: Tiling) -> bool:
    """The GEMM with a pipeline of copies into LDS: one block, five tiles of k."""
    k = 5 * tiling.k_bytes // 2
    x, w = (whole_numbers((side, k), np.float16, seed) for seed, side in enumerate((tiling.m, tiling.n)))
    y = np.full((tiling.m, tiling.n), 7, np.float32)
    operands = [SHARED.operand_of(each) for each in (x, w)]
    tt.compile(gemm, *operands, y, op, tiling, target=f"amdvalues:{chip}")(*operands, y)
    return bool((y == exact(x, w)).all())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args(arguments)
    TARGETS.register("amdvalues", TargetFamily("amdvalues", NAMES, target_of))
    verdicts = {name: is_right(kind, op, name.partition(":")[0]) for name, (kind, op) in CASES.items()}
    for chip, op in TILED.items():
        for tiling in TILINGS:
            name = f"{chip}: GEMM of {tiling.m} by {tiling.n}, {tiling.stages} stages"
            verdicts[name] = is_tiled_right(op, chip, tiling)
    for name, right in verdicts.items():
        print(f"{name}: {'right' if right else 'WRONG'}")
    print(f"{sum(verdicts.values())} of {len(verdicts)} products right")
    return 0 if all(verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
