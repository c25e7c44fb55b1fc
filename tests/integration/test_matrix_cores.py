"""Products by AMD's matrix instructions on the CPU: MFMA with 64 lanes, WMMA with 32, whole numbers to the bit.

One tile shows which elements meet, a GEMM how waves divide a block; and what is refused, with what to write.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from benchmarks.matrix_core_gemm import Tiling, exact, gemm, whole_numbers

import triptych as tt
from tests.support.example_kernels import example
from triptych import cute
from triptych.cute import amdgpu
from triptych.cute.mma.typed import TYPES
from triptych.cute.nvgpu import warp
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import MatrixTilingError, UnknownMatrixInstructionError
from triptych.ir.errors import LoweringError
from triptych.kernel_ir.dialects.wave_mma import MFMA, WAVE_MMAS, WMMA3, WaveMma
from triptych.objectstage.device_errors import ArchitectureError

tensor_core_gemm: Any = example("tensor_core_gemm")

ARRAYS: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "tf32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "s8": np.int8,
    "u8": np.uint8,
    "s32": np.int32,
}


def operation(entry: WaveMma) -> amdgpu.MFMA | amdgpu.WMMA:
    """The object that names an entry."""
    a, b, accumulator = (TYPES[word] for word in (entry.a, entry.b, entry.accumulator))
    if entry.family == MFMA:
        return amdgpu.MFMA(*entry.shape_mnk, a, accumulator, b_dtype=b)
    generation = 11 if entry.family == WMMA3 else 12
    return amdgpu.WMMA(*entry.shape_mnk, a, accumulator, generation=generation, b_dtype=b)


def machine(entry: WaveMma) -> str:
    return "cpu:64" if entry.threads == 64 else "cpu"


# one instruction ------------------------------------------------------------------------------------------------------
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
    multiply_tiles(a, b, d, op).launch(grid=1, block=cute.size(op.threads))


def product_of_tiles(op: Any, target: str, a: Any, b: Any, sums: Any) -> Any:
    d = np.zeros((len(a), len(b)), sums)
    given = [from_dlpack(each) for each in (a, b, d)]
    tt.compile(tiles_multiplied, *given, op, target=target)(*given)
    return d


EVERY_KIND = {
    (entry.family, entry.a, entry.accumulator): name for name, entry in WAVE_MMAS.items() if entry.a == entry.b
}
"""One instruction for each family and type."""


@pytest.mark.parametrize("name", EVERY_KIND.values())
def test_one_tile_of_each_kind(name: str) -> None:
    entry = WAVE_MMAS[name]
    m, n, k = (2 * extent for extent in entry.shape_mnk)
    a, b = (
        whole_numbers((rows, k), ARRAYS[kind], rows + seed)
        for seed, (rows, kind) in enumerate(((m, entry.a), (n, entry.b)))
    )
    if entry.a == "u8":
        a, b = np.abs(a.astype(np.int8)).astype(np.uint8), np.abs(b.astype(np.int8)).astype(np.uint8)
    d = product_of_tiles(operation(entry), machine(entry), a, b, ARRAYS[entry.accumulator])
    np.testing.assert_array_equal(d.astype(np.float64), exact(a, b))


def test_every_entry_has_an_object() -> None:
    for name, entry in WAVE_MMAS.items():
        assert operation(entry).instruction is WAVE_MMAS[name]


def test_sums_have_a_type_of_their_own() -> None:
    assert amdgpu.MFMA(16, 16, 16, tt.Float16).acc_dtype is tt.Float32
    assert amdgpu.MFMA(16, 16, 4, tt.Float64).acc_dtype is tt.Float64
    assert amdgpu.WMMA(16, 16, 16, tt.Int8).acc_dtype is tt.Int32


# whole kernels --------------------------------------------------------------------------------------------------------
GEMMS: dict[str, tuple[Any, Any, str, Tiling]] = {
    "f16": (np.float16, amdgpu.MFMA(32, 32, 8, tt.Float16), "cpu:64", Tiling()),
    "f16 of MI350": (np.float16, amdgpu.MFMA(16, 16, 32, tt.Float16), "cpu:64", Tiling(64, 64, 64, 2, (1, 2))),
    "bf16": (ml_dtypes.bfloat16, amdgpu.MFMA(16, 16, 16, tt.BFloat16), "cpu:64", Tiling(64, 128, 64, 3, (2, 1))),
    "int8": (np.int8, amdgpu.MFMA(32, 32, 16, tt.Int8), "cpu:64", Tiling()),
    "fp8 of MI300": (
        ml_dtypes.float8_e4m3fnuz,
        amdgpu.MFMA(16, 16, 32, tt.Float8E4M3FNUZ),
        "cpu:64",
        Tiling(64, 64, 64, 3, (2, 2)),
    ),
    "fp8 of MI350": (ml_dtypes.float8_e5m2, amdgpu.MFMA(32, 32, 16, tt.Float8E5M2), "cpu:64", Tiling()),
    "f16 of RDNA 3": (
        np.float16,
        amdgpu.WMMA(16, 16, 16, tt.Float16, generation=11),
        "cpu",
        Tiling(64, 64, 64, 2, (2, 2)),
    ),
    "bf16 of RDNA 4": (ml_dtypes.bfloat16, amdgpu.WMMA(16, 16, 16, tt.BFloat16), "cpu", Tiling(64, 64, 64, 2, (2, 2))),
}


@pytest.mark.parametrize("name", GEMMS)
def test_a_gemm_of_waves(name: str) -> None:
    dtype, op, target, tiling = GEMMS[name]
    m, n, k = 200, 150, 208
    x, w = whole_numbers((m, k), dtype, 1), whole_numbers((n, k), dtype, 2)
    y = np.full((m, n), 7, np.int32 if dtype is np.int8 else np.float32)
    given = [*map(tensor_core_gemm.operand_of, (x, w)), y]
    tt.compile(gemm, *given, op, tiling, target=target)(*given)
    np.testing.assert_array_equal(y.astype(np.float64), exact(x, w))


# what is refused ------------------------------------------------------------------------------------------------------
def refused(op: Any, target: str) -> str:
    a = np.zeros((64, 64), np.float16)
    with pytest.raises((MatrixTilingError, LoweringError, ArchitectureError)) as caught:
        product_of_tiles(op, target, a, a, np.float32)
    assert caught.value.span is not None
    assert "cute.gemm(" in str(caught.value)
    return str(caught.value)


def test_a_machine_with_other_warps_refuses() -> None:
    text = refused(amdgpu.MFMA(32, 32, 8, tt.Float16), "cpu")
    assert "an instruction of 64 threads on a machine whose warps have 32" in text
    assert "gfx90a, gfx942, gfx950" in text
    assert "target='cpu:64'" in text
    assert "target='cpu' to run it here" in refused(amdgpu.WMMA(16, 16, 16, tt.Float16), "cpu:64")
    nvidia = warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))
    assert "an instruction of 32 threads on a machine whose warps have 64 lanes" in refused(nvidia, "cpu:64")


def test_nvidia_has_none_of_them() -> None:
    text = refused(amdgpu.WMMA(16, 16, 16, tt.Float16), "nvptx:sm_90a")
    assert "sm_90a has no instruction for this" in text
    assert "wmma12.m16n16k16.f32.f16.f16.f32" in text


def test_shapes_and_types_that_no_instruction_has() -> None:
    with pytest.raises(UnknownMatrixInstructionError) as caught:
        amdgpu.MFMA(32, 32, 16, tt.Float8E4M3FN, b_dtype=tt.Float8E4M3FNUZ)
    assert caught.value.instead == "Float8E4M3FN into Float32, (32, 32, 16)"
    with pytest.raises(UnknownMatrixInstructionError, match="Float8E4M3FNUZ into Float32"):
        amdgpu.WMMA(16, 16, 16, tt.Float8E4M3FNUZ)
    with pytest.raises(UnknownMatrixInstructionError, match="11 or 12"):
        amdgpu.WMMA(16, 16, 16, tt.Float16, generation=10)


@tt.kernel
def divergent_product(a: cute.Tensor, d: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(amdgpu.MFMA(16, 16, 16, tt.Float16))
    left, right = mma.make_fragment_A((4, 1, 1)), mma.make_fragment_B((4, 1, 1))
    sums = mma.make_fragment_C((4, 1, 1))
    left.fill(1)
    right.fill(1)
    sums.fill(0)
    if a[thread] > 0:
        cute.gemm(mma, sums, left, right, sums)
    d[thread] = sums[0, 0, 0]


@tt.jit
def diverging(a: cute.Tensor, d: cute.Tensor) -> None:
    divergent_product(a, d).launch(grid=1, block=64)


def test_a_wave_of_which_some_threads_come_is_an_error() -> None:
    a, d = np.ones(64, np.float32), np.zeros(64, np.float32)
    made = tt.compile(diverging, a, d, target="cpu:64")
    made(a, d)
    assert (d == 16).all()
    a[40] = 0
    with pytest.raises(tt.TriptychError, match=r"(?s)all 64 threads to come here together.*|thread \(40, 0, 0\)"):
        made(a, d)


def test_lanes_are_those_of_the_machine() -> None:
    assert cute.arch.num_warp_threads() == 32
    seen = []

    @tt.jit
    def ask() -> None:
        seen.append(cute.arch.num_warp_threads())

    for target in ("cpu", "cpu:64"):
        tt.compile(ask, target=target)
    assert seen == [32, 64]
