"""The main loops of products of matrices on sm_80, against the figures of the best-known peer."""

from __future__ import annotations

import pytest
from benchmarks.main_loops import BARS, loop_rows

import triptych as tt
from tests.unit.targets.nvptx.programs import MATRICES
from tests.unit.targets.nvptx.tools import needs_assembler, needs_disassembler
from triptych.objectstage.device_errors import ArchitectureError

pytestmark = [needs_assembler, needs_disassembler]
FP8 = "tensor-core gemm, fp8"


@pytest.mark.parametrize("program", [name for name in MATRICES if name != FP8])
def test_main_loop(program: str) -> None:
    function, arguments = MATRICES[program]()
    compiled = tt.compile(function, *arguments, target="nvptx:sm_80")
    (row,) = loop_rows(program, "sm_80", compiled, 0.0)
    assert row.registers <= BARS[program].registers
    assert row.stack <= BARS[program].stack
    assert row.share >= BARS[program].computing
    if program.startswith("tensor-core gemm"):
        assert (row.computing, row.matrix_loads, row.copies) == (64, 16, 8)


def test_fp8_needs_a_newer_gpu() -> None:
    function, arguments = MATRICES[FP8]()
    with pytest.raises(ArchitectureError, match="sm_80 has no instruction for this") as caught:
        tt.compile(function, *arguments, target="nvptx:sm_80")
    assert caught.value.span is not None
    assert caught.value.span.file.endswith("tensor_core_gemm.py")


@pytest.mark.parametrize(
    ("architecture", "number", "instruction"),
    [
        ("sm_89", 64, "m16n8k32.row.col.f32.e4m3.e4m3.f32"),
        ("sm_90a", 128, "m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_100a", 128, "m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_120a", 64, "m16n8k32.row.col.f32.e4m3.e4m3.f32"),
    ],
)
def test_fp8(architecture: str, number: int, instruction: str) -> None:
    function, arguments = MATRICES[FP8]()
    compiled = tt.compile(function, *arguments, target=f"nvptx:{architecture}")
    assert all(used.spill_stores == 0 and used.registers < 240 for used in compiled.resources.values())
    assert compiled.__ptx__.count("mma.sync") == compiled.__ptx__.count(f"mma.sync.aligned.{instruction}") == number
    assert "FADD" not in compiled.__sass__
