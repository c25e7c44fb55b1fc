"""Every plain kernel example compiles for every chip, keeps its numbers in registers, and fits the chip."""

from __future__ import annotations

import pytest
from benchmarks.amd_programs import PLAIN, compiled

from triptych.driver.compiling import CompiledFunction
from triptych.objectstage.errors import MissingViewError
from triptych.objectstage.target import find_target
from triptych.targets.amdgpu.code_generation import serialize
from triptych.targets.amdgpu.code_object.metadata import kernels_of
from triptych.targets.amdgpu.description.chips import CHIPS


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", PLAIN)
def test_it_compiles_without_spills(name: str, chip: str) -> None:
    made = compiled(name, f"amdgpu:{chip}")
    assert made.resources
    for kernel, used in made.resources.items():
        assert (used.spills, used.scalar_spills, used.scratch) == (0, 0, 0), kernel
        assert used.registers <= CHIPS[chip].vector_limit
        assert made.usage[kernel] > 0
    assert all(not each.is_hidden for kernel in kernels_of(made.artifact).values() for each in kernel.arguments)


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("name", ["softmax", "warp reduction", "rms norm", "layer norm"])
def test_two_warps_of_32_share_a_wave(name: str, chip: str) -> None:
    made = compiled(name, f"amdgpu:{chip}:32")
    assert all((used.spills, used.scratch) == (0, 0) for used in made.resources.values())
    assert all(kernel.lanes == 64 for kernel in kernels_of(made.artifact).values())
    assert "v_readlane" not in made.asm, "the two halves of a wave have numbers of their own"


def _function() -> CompiledFunction:
    return compiled("relu", "amdgpu:gfx942")


def test_views() -> None:
    made = _function()
    assert made.asm.startswith('\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"')
    assert made.artifact.startswith(b"\x7fELF")
    with pytest.raises(MissingViewError, match="no ptx") as missing:
        _ = made.__ptx__
    assert "asm, hsaco, resources, usage" in str(missing.value)


def test_what_the_store_keeps_gives_the_same_code() -> None:
    made = _function()._loaded.compiled
    target = find_target("amdgpu:gfx942")
    assert target.deserialize is not None
    again = target.deserialize(made.lowered, serialize(made), made.options, lambda: made)
    assert (again.artifact, again.assembly) == (made.artifact, made.assembly)
    assert again.views["resources"]() == made.views["resources"]()
