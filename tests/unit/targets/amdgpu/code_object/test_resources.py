"""`resources`: waves of a SIMD as LLVM counts them, which the comments of its own assembly say."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import pytest

from tests.unit.targets.amdgpu.programs import compiled
from triptych.targets.amdgpu.code_generation import TRIPLE
from triptych.targets.amdgpu.code_object.resources import WaveResources, occupancy, wave_limits
from triptych.targets.amdgpu.description.chips import CHIPS, Chip

COUNTS = range(4, 256, 4)
"""Of vector registers: 63 for each chip."""
SIZES = (256, 2048, 5120, 8192, 16384, 20480, 32768, 40960, 65536)
KERNEL = """
define amdgpu_kernel void @k{number}(ptr addrspace(1) %o) #{group} {{
  call void asm sideeffect "", "~{{{register}{last}}}"()
  ret void
}}
"""
WITH_LDS = """
@s{number} = internal addrspace(3) global [{bytes} x i8] undef, align 16
define amdgpu_kernel void @k{number}(ptr addrspace(1) %o, i32 %i) #0 {{
  %p = getelementptr i8, ptr addrspace(3) @s{number}, i32 %i
  store volatile i8 1, ptr addrspace(3) %p
  ret void
}}
"""
THREADS = 'attributes #0 = {{ nounwind "amdgpu-flat-work-group-size"="{0},{0}" }}\n'


@cache
def machine(chip: str) -> Any:
    """The worker of the compiler writes no comments."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    made = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=chip, features="", opt=3)
    made.set_asm_verbosity(True)
    return made


def counted_by_llvm(text: str, chip: str) -> list[tuple[int, int]]:
    """Of each kernel: waves, and scalar registers as the metadata has them."""
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = TRIPLE, str(machine(chip).target_data)
    assembly = machine(chip).emit_assembly(module)
    waves = [int(number) for number in re.findall(r"; Occupancy: (\d+)", assembly)]
    scalars = [int(number) for number in re.findall(r"\.sgpr_count: +(\d+)", assembly)]
    return list(zip(waves, scalars, strict=True))


def used(registers: int = 8, scalars: int = 16, shared: int = 0) -> WaveResources:
    return WaveResources("k", "", registers, 0, scalars, shared, 0, 0, 0)


@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_vector_registers(chip: Chip) -> None:
    text = "".join(KERNEL.format(number=n, group=0, register="v", last=n - 1) for n in COUNTS) + THREADS.format(64)
    found = [waves for waves, _ in counted_by_llvm(text, chip.name)]
    assert len(found) == 63
    assert found == [occupancy(used(n), chip, 64) for n in COUNTS]


@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_scalar_registers(chip: Chip) -> None:
    counts = (32, 70, 80, 90, 93, 94, 95, 96, 97, 98, 100, 102)
    text = "".join(KERNEL.format(number=n, group=0, register="s", last=n - 1) for n in counts) + THREADS.format(64)
    for waves, scalars in counted_by_llvm(text, chip.name):
        assert waves == occupancy(used(8, scalars), chip, 64), scalars


@pytest.mark.parametrize("threads", [64, 256, 1024])
@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_shared_memory(chip: Chip, threads: int) -> None:
    sizes = [*SIZES, *((131072, 163840) if chip.name == "gfx950" else ())]
    for size in sizes:
        text = WITH_LDS.format(number=0, bytes=size) + THREADS.format(threads)
        ((waves, _),) = counted_by_llvm(text, chip.name)
        assert waves == occupancy(used(shared=size), chip, threads), size
        assert waves == occupancy(used(), chip, threads, size), size


def test_what_limits() -> None:
    chip = CHIPS["gfx942"]
    assert wave_limits(used(100, 16, 32768), chip, 256) == {
        "waves": 8,
        "registers": 4,
        "scalar registers": 8,
        "shared memory": 2,
    }
    assert occupancy(used(shared=chip.shared + 1), chip, 256) == 0


def squares(x: Any, y: Any, t: Any) -> None:
    y[t] = x[t] * x[t]


def test_views_of_a_compiled_function() -> None:
    function = compiled(squares, "gfx942")
    (found,) = function.resources.values()
    assert (found.kernel, found.chip, found.spills, found.scratch) == ("kernel", "gfx942", 0, 0)
    assert function.usage == {"kernel": 8}
