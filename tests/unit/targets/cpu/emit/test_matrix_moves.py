"""Loads of matrices out of swizzled shared memory: the right registers, by functions of one address."""

from __future__ import annotations

import re

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warp

ROWS, DEPTH, WARPS = 32, 32, 2


def swizzled(bits: int) -> cute.ComposedLayout:
    """Rows of `DEPTH` halves, with their pieces of 16 bytes permuted by the number of the row."""
    atom = cute.make_layout((8, DEPTH), stride=(DEPTH, 1))
    return cute.tile_to_shape(cute.make_composed_layout(cute.make_swizzle(bits, 3, 3), 0, atom), (ROWS, DEPTH), (0, 1))


@tt.kernel
def doubled_rows(x: cute.Tensor, y: cute.Tensor, bits: tt.Constexpr[int]) -> None:
    """y = x @ identity.T, whose factors are loaded as matrices."""
    thread, _, _ = cute.arch.thread_idx()
    smem = cute.SmemAllocator()
    left, right = [smem.allocate_tensor(tt.Float16, swizzled(bits), byte_alignment=1024) for _ in range(2)]
    for i in tt.range_constexpr(ROWS * DEPTH // (32 * WARPS)):
        row, column = (i * 32 * WARPS + thread) // DEPTH, thread % DEPTH
        left[row, column] = x[row, column]
        right[row, column] = tt.Float16(2.0) if row == column else tt.Float16(0.0)
    cute.arch.sync_threads()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16)), (WARPS, 1, 1), (32, 16, 16))
    mine = mma.get_slice(thread)
    a, b = mma.make_fragment_A(mine.partition_A(left)), mma.make_fragment_B(mine.partition_B(right))
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), tt.Float16)
    for copy, source, target in (
        (cute.make_tiled_copy_A(load, mma), left, a),
        (cute.make_tiled_copy_B(load, mma), right, b),
    ):
        cute.copy(copy, copy.get_slice(thread).partition_S(source), copy.retile(target))
    part = mine.partition_C(cute.local_tile(y, (ROWS, DEPTH), (0, 0)))
    sums = mma.make_fragment_C(part)
    sums.fill(0.0)
    cute.gemm(mma, sums, a, b, sums)
    for i in tt.range_constexpr(cute.size(sums)):
        part[i] = sums[i]


@tt.jit
def run(x: cute.Tensor, y: cute.Tensor, bits: tt.Constexpr[int]) -> None:
    doubled_rows(x, y, bits).launch(grid=1, block=32 * WARPS)


@pytest.mark.parametrize("bits", [0, 1, 2])
def test_rows_of_a_swizzled_tile_are_known_distances_apart(bits: int) -> None:
    x = np.random.default_rng(bits).standard_normal((ROWS, DEPTH)).astype(np.float16)
    y = np.zeros((ROWS, DEPTH), np.float32)
    compiled = tt.compile(run, x, y, bits)
    compiled(x, y)
    np.testing.assert_array_equal(y, 2 * x.astype(np.float32))
    loads = re.findall(r"call void @ldmatrix\.m8n8\.x4\.b16\.\S+\((\S+ \S+|ptr)", compiled.llvm.replace('"', ""))
    assert loads
    assert all(first.startswith("ptr") for first in loads), "an address for each lane"
