"""Resources of a kernel on a chip, and how many waves of it a SIMD holds at once.

A SIMD shares its vector registers among waves, in granules. The waves of a block are dealt to four SIMDs, and the
blocks of a compute unit share its LDS. Tests compare the number of waves with LLVM's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from triptych.support.dataclass import dataclass
from triptych.targets.amdgpu.code_object.metadata import Kernel, kernels_of
from triptych.targets.amdgpu.description.chips import SIMDS, Chip


@dataclass(frozen=True, slots=True)
class WaveResources:
    """One kernel on one chip."""

    kernel: str
    chip: str
    registers: int
    """Vector registers of each thread, with accumulation registers."""
    accumulation_registers: int
    scalar_registers: int
    """Of each wave."""
    shared: int
    """Bytes of LDS whose size is known here; a launch adds its own."""
    scratch: int
    """Bytes of memory of each thread."""
    spills: int
    """Vector registers that are kept in memory because there are too few."""
    scalar_spills: int


def resources_of(code: bytes, chip: Chip) -> dict[str, WaveResources]:
    """The resources of every kernel of a code object, by the kernel's name."""
    return {name: _resources(kernel, chip) for name, kernel in kernels_of(code).items()}


def _resources(kernel: Kernel, chip: Chip) -> WaveResources:
    return WaveResources(
        kernel.name,
        chip.name,
        kernel.vector_registers,
        kernel.accumulation_registers,
        kernel.scalar_registers,
        kernel.shared,
        kernel.scratch,
        kernel.vector_spills,
        kernel.scalar_spills,
    )


def wave_limits(used: WaveResources, chip: Chip, threads: int, shared: int = 0) -> Mapping[str, int]:
    """How many waves of a SIMD each thing allows, in blocks of `threads` that are launched with `shared` bytes more."""
    by = {"waves": chip.waves, "registers": _by_registers(used.registers, chip)}
    by["scalar registers"] = next((n for most, n in chip.scalar_limits if used.scalar_registers <= most), chip.waves)
    lds = used.shared + shared
    if lds:
        waves_of_block = -(-threads // chip.lanes)
        by["shared memory"] = -(-(chip.shared_file // lds * waves_of_block) // SIMDS)
    return by


def occupancy(used: WaveResources, chip: Chip, threads: int, shared: int = 0) -> int:
    """How many waves a SIMD holds at once; 0 for a block that has more LDS than there is."""
    return min(wave_limits(used, chip, threads, shared).values())


def _by_registers(registers: int, chip: Chip) -> int:
    taken = -(-max(registers, 1) // chip.granule) * chip.granule
    return chip.registers // taken
