"""Products of matrices against float64: every instruction by coordinates, and whole kernels over shapes and tilings.

The bound of a product is that of its sums: each of k additions rounds by at most 2**-24 of what has been summed.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.differential.seeded_runs import DRAWN
from tests.support.error_bounds import product_bound, within
from tests.support.example_kernels import example
from tests.support.examples import examples
from triptych import cute
from triptych.cute.nvgpu import warp
from triptych.cute.runtime import from_dlpack
from triptych.kernel_ir.dialects.mma import WARP_MMAS, WarpMma
from triptych.ptxsim.matrices import FACTORS, SUMS

sgemm: Any = example("sgemm")
tensor_core_gemm: Any = example("tensor_core_gemm")

few_compilations = examples(40, DRAWN)

# one instruction --------------------------------------------------------------------------------------------------
ARRAYS = {**FACTORS, **SUMS}
TYPES = {
    "f16": tt.Float16,
    "bf16": tt.BFloat16,
    "tf32": tt.TFloat32,
    "e4m3": tt.Float8E4M3FN,
    "e5m2": tt.Float8E5M2,
    "s8": tt.Int8,
    "u8": tt.Uint8,
    "f32": tt.Float32,
    "s32": tt.Int32,
}
DIGIT = 8
"""Whole numbers below this are exact in every type."""


@tt.kernel
def multiply_tiles(a: cute.Tensor, b: cute.Tensor, d: cute.Tensor, op: tt.Constexpr[Any]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(op)
    mine = mma.get_slice(thread)
    part_a, part_b, part_d = mine.partition_A(a), mine.partition_B(b), mine.partition_C(d)
    left, right, sums = mma.make_fragment_A(part_a), mma.make_fragment_B(part_b), mma.make_fragment_C(part_d)
    cute.basic_copy(part_a, left)
    cute.basic_copy(part_b, right)
    sums.fill(0)
    cute.gemm(mma, sums, left, right, sums)
    cute.basic_copy(sums, part_d)


@tt.jit
def tiles_multiplied(a: cute.Tensor, b: cute.Tensor, d: cute.Tensor, op: tt.Constexpr[Any]) -> None:
    multiply_tiles(a, b, d, op).launch(grid=1, block=32)


def digits(rows: int, columns: int) -> list[np.ndarray[Any, Any]]:
    """The number of every place of a matrix, one digit at a time."""
    places = np.arange(rows * columns).reshape(rows, columns)
    return [places // DIGIT**i % DIGIT for i in range(3)]


def chosen(rows: int, columns: int) -> np.ndarray[Any, Any]:
    """Row i takes column i mod columns."""
    return np.eye(columns)[np.arange(rows) % columns]


def product_of(instruction: WarpMma, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    op = warp.WarpMmaOp(
        TYPES[instruction.a], TYPES[instruction.accumulator], instruction.shape_mnk, TYPES[instruction.b]
    )
    d = np.zeros((len(a), len(b)), ARRAYS[instruction.accumulator])
    given_a, given_b = a.astype(ARRAYS[instruction.a]), b.astype(ARRAYS[instruction.b])
    tiles_multiplied(from_dlpack(given_a), from_dlpack(given_b), from_dlpack(d), op)
    return d


@pytest.mark.parametrize("name", WARP_MMAS)
def test_an_instruction_shows_which_elements_meet(name: str) -> None:
    """One operand has the numbers of its own places, the other takes one k for each of its rows: so d shows places.

    Two steps of each mode, so that tiles beside each other are told apart too.
    """
    instruction = WARP_MMAS[name]
    m, n, k = (2 * extent for extent in instruction.shape_mnk)
    for digit in digits(m, k):
        take = chosen(n, k)
        for shift in range(0, k, n):
            d = product_of(instruction, digit, np.roll(take, shift, 1))
            np.testing.assert_array_equal(d.astype(np.int64), digit[:, (np.arange(n) + shift) % k])
    for digit in digits(n, k):
        take = chosen(m, k)
        for shift in range(0, k, m):
            d = product_of(instruction, np.roll(take, shift, 1), digit)
            np.testing.assert_array_equal(d.astype(np.int64), digit[:, (np.arange(m) + shift) % k].T)


# whole kernels ----------------------------------------------------------------------------------------------------
extents = st.one_of(st.integers(1, 40), st.integers(100, 300))
SIMT_TILINGS = [sgemm.Tiling(), sgemm.Tiling(64, 64, 16, 2)]
TILINGS = {
    np.float16: tensor_core_gemm.Tiling(64, 64, 64, 3, (2, 2)),
    ml_dtypes.bfloat16: tensor_core_gemm.Tiling(64, 32, 32, 2, (2, 1)),
    ml_dtypes.float8_e4m3fn: tensor_core_gemm.Tiling(32, 64, 64, 4, (1, 2)),
}
"""A tiling for each type: every one is a program of its own."""


@given(extents, extents, extents, st.sampled_from(SIMT_TILINGS))
@few_compilations
def test_simt_gemm_for_any_shape(m: int, n: int, k: int, tiling: Any) -> None:
    random = np.random.default_rng(m * n + k)
    a, b = random.standard_normal((m, k), np.float32), random.standard_normal((k, n), np.float32)
    c = np.full((m, n), np.nan, np.float32)
    sgemm.sgemm(a, b, c, tiling)
    within(c, a.astype(np.float64) @ b, product_bound(a, b))


@given(extents, extents, st.integers(1, 20), st.sampled_from(sorted(TILINGS, key=str)))
@few_compilations
def test_tensor_core_gemm_for_any_shape(m: int, n: int, vectors: int, dtype: Any) -> None:
    k = vectors * 16 // np.dtype(dtype).itemsize
    x, w = (tensor_core_gemm.numbers((rows, k), dtype, rows + k) for rows in (m, n))
    y = np.full((m, n), np.nan, np.float32)
    tensor_core_gemm.gemm(*map(tensor_core_gemm.operand_of, (x, w)), y, tiling=TILINGS[dtype])
    exact = x.astype(np.float64) @ w.astype(np.float64).T
    within(y, exact, product_bound(x, w.T))


# epilogues --------------------------------------------------------------------------------------------------------
def traced(epilogue: Any) -> str:
    x, w = (tensor_core_gemm.operand_of(np.zeros((16, 32), np.float16)) for _ in "xw")
    tiling = TILINGS[np.float16]
    return str(tt.compile(tensor_core_gemm.gemm, x, w, np.zeros((16, 16), np.float32), epilogue, tiling).mlir)


def test_nothing_of_an_epilogue_is_left_but_its_arithmetic() -> None:
    """Epilogues that compute the same are the same program, however many objects and calls they are made of."""
    module = tensor_core_gemm
    plain = traced(module.Epilogue())
    assert traced(module.Then(module.Epilogue(), module.Then(module.Epilogue(), module.Epilogue()))) == plain
    assert "func.call" not in plain
    rectified = traced(module.ReLU())
    assert traced(module.Then(module.Epilogue(), module.ReLU())) == rectified
    added = set(rectified.split()) - set(plain.split())
    assert any("maxnumf" in word for word in added)
