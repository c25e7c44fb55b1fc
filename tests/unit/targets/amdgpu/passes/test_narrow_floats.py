"""`narrow_floats` of the AMD target: what of 16-bit floats is the machine's own, and formats that are only bytes."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from tests.unit.targets.amdgpu.programs import compiled, instructions
from triptych.targets.amdgpu.description.chips import CHIPS


def halves(x: Any, y: Any, t: Any) -> None:
    y[t] = x[t] * y[t] + x[t]


@pytest.mark.parametrize("chip", CHIPS)
def test_float16_is_the_machines_own(chip: str) -> None:
    found = instructions(compiled(halves, chip, tt.Float16).asm)
    assert any(line.startswith(("v_mul_f16", "v_fma_f16", "v_fmac_f16", "v_add_f16")) for line in found)
    assert not any("cvt" in line for line in found)


@pytest.mark.parametrize("chip", CHIPS)
def test_bfloat16_is_computed_in_32_bits_and_rounded_once(chip: str) -> None:
    found = instructions(compiled(halves, chip, tt.BFloat16).asm)
    assert any(line.startswith(("v_mul_f32", "v_fma_f32", "v_fmac_f32", "v_pk", "v_dual", "v_fmamk")) for line in found)
    assert not any("_bf16" in line for line in found)


@pytest.mark.parametrize("dtype", [tt.Float8E4M3FN, tt.Float8E5M2], ids=str)
def test_eight_bits_are_bytes(dtype: Any) -> None:
    found = instructions(compiled(halves, "gfx942", dtype).asm)
    assert any(line.startswith("global_load_ubyte") for line in found)
    assert any(line.startswith("global_store_byte") for line in found)
