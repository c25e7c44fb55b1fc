"""Matrix instructions of AMD: each compiled for every chip that has it, and what chips lack, with what to write."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from benchmarks.matrix_core_gemm import Tiling, gemm
from benchmarks.matrix_core_loop import measure

import triptych as tt
from tests.integration.test_matrix_cores import ARRAYS, operation, tensor_core_gemm, tiles_multiplied
from triptych.cute import amdgpu
from triptych.cute.nvgpu import warp
from triptych.cute.runtime import from_dlpack
from triptych.driver.compiling import CompiledFunction
from triptych.kernel_ir.dialects.wave_mma import WAVE_MMAS, WaveMma
from triptych.objectstage.device_errors import ArchitectureError
from triptych.targets.amdgpu.description.chips import CHIPS, Feature
from triptych.targets.amdgpu.description.matrix_instructions import MATRIX_INSTRUCTIONS, may_multiply, problem, written

TYPES: dict[str, Any] = {"Float16": np.float16, "BFloat16": ARRAYS["bf16"], "Int8": np.int8}


def compiled(op: Any, chip: str, a: Any, b: Any, sums: Any) -> CompiledFunction:
    """Two tiles along each mode."""
    m, n, k = (2 * extent for extent in op.shape_mnk)
    tensors = [from_dlpack(np.zeros(shape, kind)) for shape, kind in (((m, k), a), ((n, k), b), ((m, n), sums))]
    return tt.compile(tiles_multiplied, *tensors, op, target=f"amdgpu:{chip}")


def of_entry(entry: WaveMma, chip: str) -> CompiledFunction:
    return compiled(operation(entry), chip, *(ARRAYS[kind] for kind in (entry.a, entry.b, entry.accumulator)))


@pytest.mark.parametrize(("name", "chip"), [(name, chip) for name, each in WAVE_MMAS.items() for chip in each.chips])
def test_every_instruction_is_selected(name: str, chip: str) -> None:
    """Assemblers of gfx90a leave out an underscore in front of types."""
    made = of_entry(WAVE_MMAS[name], chip)
    found = re.findall(r"^\t(v_w?mfma\w*|v_wmma\w*)", made.asm, re.MULTILINE)
    expected = MATRIX_INSTRUCTIONS[name].isa.replace("_", "")
    assert len(found) == 8
    assert {word.replace("_", "").removesuffix("1k") for word in found} == {expected}
    (kernel,) = made.resources.values()
    assert (kernel.scratch, kernel.spills) == (0, 0)


def test_chips_have_what_their_features_say() -> None:
    for entry in WAVE_MMAS.values():
        for chip in map(CHIPS.__getitem__, entry.chips):
            assert chip.lanes == entry.threads
            assert (Feature.MFMA if entry.family == "mfma" else Feature.WMMA) in chip.features
            if entry.a.startswith(("e4m3", "e5m2")):
                assert (Feature.FP8_FNUZ if "fnuz" in entry.a else Feature.FP8_OCP) in chip.features


def test_only_these_intrinsics_may_be_called() -> None:
    assert may_multiply("llvm.amdgcn.mfma.f32.32x32x8f16", CHIPS["gfx942"])
    assert not may_multiply("llvm.amdgcn.mfma.f32.32x32x16.f16", CHIPS["gfx942"])
    assert not may_multiply("llvm.amdgcn.mfma.f32.5x5x5f16", CHIPS["gfx942"])


def test_what_is_offered_in_place_is_there() -> None:
    """Every instruction on every chip: it is there, or the error names others that are."""
    texts = {written(entry): entry for entry in WAVE_MMAS.values()}
    for chip in CHIPS.values():
        for entry in WAVE_MMAS.values():
            found = problem(entry, chip)
            assert (found is None) == (chip.name in entry.chips)
            if found is not None and "amdgpu." in found[1]:
                assert all(chip.name in texts[text].chips for text in found[1].split(" or "))


# what a chip lacks ----------------------------------------------------------------------------------------------------
def refused(op: Any, chip: str, kind: Any) -> str:
    with pytest.raises(ArchitectureError) as caught:
        compiled(op, chip, kind, kind, np.int32 if kind is np.int8 else np.float32)
    assert caught.value.span is not None
    assert "cute.gemm(" in str(caught.value)
    return str(caught.value)


def test_fp8_of_the_other_flavour_names_the_type_to_write() -> None:
    text = refused(amdgpu.MFMA(32, 32, 16, tt.Float8E4M3FN), "gfx942", ARRAYS["e4m3"])
    assert "gfx942 multiplies another kind of floats of 8 bits, Float8E4M3FNUZ in place of Float8E4M3FN" in text
    assert "write: amdgpu.MFMA(16, 16, 32, Float8E4M3FNUZ) or amdgpu.MFMA(32, 32, 16, Float8E4M3FNUZ)" in text
    text = refused(amdgpu.MFMA(16, 16, 32, tt.Float8E5M2FNUZ), "gfx950", ARRAYS["e5m2fnuz"])
    assert "Float8E5M2 in place of Float8E5M2FNUZ" in text
    text = refused(amdgpu.MFMA(16, 16, 32, tt.Float8E4M3FN), "gfx90a", ARRAYS["e4m3"])
    assert "gfx90a has no matrix instruction for Float8E4M3FN" in text
    assert "factors of Float32, Float64, Float16, BFloat16, Int8" in text


def test_shapes_of_other_chips() -> None:
    text = refused(amdgpu.MFMA(16, 16, 32, tt.Float16), "gfx942", np.float16)
    assert "gfx942 multiplies Float16 in other shapes" in text
    assert "found: amdgpu.MFMA(16, 16, 32, Float16)" in text
    assert "write: amdgpu.MFMA(16, 16, 16, Float16) or amdgpu.MFMA(32, 32, 8, Float16)" in text
    text = refused(amdgpu.MFMA(16, 16, 16, tt.Int8), "gfx950", np.int8)
    assert "amdgpu.MFMA(16, 16, 64, Int8)" in text
    text = refused(amdgpu.WMMA(16, 16, 16, tt.Float16), "gfx1100", np.float16)
    assert "write: amdgpu.WMMA(16, 16, 16, Float16, generation=11)" in text


def test_instructions_of_nvidia() -> None:
    op = warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))
    assert "has no matrix instruction of NVIDIA's shapes" in refused(op, "gfx1100", np.float16)


# whole kernels --------------------------------------------------------------------------------------------------------
KERNELS: dict[str, tuple[Any, Any, Any, int]] = {
    "gfx90a": (amdgpu.MFMA(32, 32, 8, tt.Float16), np.float16, Tiling(256, 256, 64, 2), 64),
    "gfx942": (amdgpu.MFMA(32, 32, 16, tt.Float8E4M3FNUZ), ARRAYS["e4m3fnuz"], Tiling(), 16),
    "gfx950": (amdgpu.MFMA(16, 16, 64, tt.Int8), np.int8, Tiling(), 16),
    "gfx1100": (amdgpu.WMMA(16, 16, 16, tt.Float16, generation=11), np.float16, Tiling(), 32),
    "gfx1201": (amdgpu.WMMA(16, 16, 16, tt.BFloat16), ARRAYS["bf16"], Tiling(), 32),
}


@pytest.mark.parametrize("chip", KERNELS)
def test_a_gemm_fits_the_registers(chip: str) -> None:
    op, kind, tiling, products = KERNELS[chip]
    factors = [tensor_core_gemm.operand_of(np.zeros((256, 256), kind)) for _ in "xw"]
    sums = np.zeros((256, 256), np.int32 if kind is np.int8 else np.float32)
    made = tt.compile(gemm, *factors, sums, op, tiling, target=f"amdgpu:{chip}")
    (kernel,) = made.resources.values()
    assert (kernel.scratch, kernel.spills) == (0, 0)
    assert len(re.findall(r"^\tv_(?:mfma|wmma)", made.asm, re.MULTILINE)) == products


# code -----------------------------------------------------------------------------------------------------------------
def test_the_main_loop_has_nothing_to_spare() -> None:
    """4 x 4 tiles of 32x32x8 from LDS: 57 instructions, 32 of them products, no moves and no spills."""
    rows = {row.what: row for row in measure()}
    assert [row.what for row in rows.values() if row.verdict == "over"] == []
    assert rows["MFMA"].value == 32
    assert rows["reads of LDS"].value == 8
