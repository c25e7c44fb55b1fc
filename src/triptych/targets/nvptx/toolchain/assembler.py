"""Assembler protocol, whichever way it is reached: PTX goes in, a cubin and a report on each kernel come out."""

from __future__ import annotations

from typing import Protocol

from triptych.objectstage.device_errors import AssemblerError
from triptych.support.dataclass import dataclass
from triptych.targets.nvptx.description.architectures import NEWEST_PTX, Architecture

_PTX_OF_CUDA = {
    (12, 0): 80,
    (12, 1): 81,
    (12, 2): 82,
    (12, 3): 83,
    (12, 4): 84,
    (12, 5): 85,
    (12, 7): 86,
    (12, 8): 87,
    (12, 9): 88,
    (13, 0): 90,
}
"""The newest version of PTX, times ten, that the tools of a CUDA version know."""

_MAP_STRIDE, _STRIDES_IN_BYTES = "tensormap.replace.tile.global_stride", (12, 5)


@dataclass(frozen=True, slots=True)
class AssemblerOptions:
    """What the user may choose about assembling."""

    opt_level: int = 3
    line_info: bool = False
    more: tuple[str, ...] = ()
    """Words of the user's own."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A binary for one architecture, and what the assembler reported about each kernel."""

    cubin: bytes
    report: str


class Assembler(Protocol):
    """One way to reach NVIDIA's assembler."""

    @property
    def name(self) -> str:
        """Its name among the settings."""

    def version(self) -> tuple[int, int] | None:
        """The CUDA version that it belongs to; None when it is not installed."""

    def assemble(self, ptx: str, architecture: Architecture, options: AssemblerOptions) -> Assembled:
        """Assemble, or raise AssemblerError with the assembler's own words."""


def ptx_version(assembler: Assembler, architecture: Architecture) -> int:
    """The newest PTX that LLVM writes and the assembler reads."""
    version, known = assembler.version() or (0, 0), newest_ptx(assembler)
    if known < architecture.oldest_ptx:
        raise AssemblerError(
            f"{assembler.name} is too old for {architecture.name}",
            found=f"CUDA {version[0]}.{version[1]}",
            expected=f"a version that knows PTX {architecture.oldest_ptx / 10}",
            instead="pip install -U 'triptych[cuda]'",
        )
    return min(known, NEWEST_PTX)


def newest_ptx(assembler: Assembler) -> int:
    """The newest PTX, times ten, that an assembler reads."""
    version = assembler.version() or (0, 0)
    return max((ptx for cuda, ptx in _PTX_OF_CUDA.items() if cuda <= version), default=0)


def check_strides(ptx: str, assembler: Assembler) -> None:
    """Refuse kernels that change the strides of tensor maps: older assemblers take them in units of 16 bytes."""
    version = assembler.version() or (0, 0)
    if _MAP_STRIDE in ptx and version < _STRIDES_IN_BYTES:
        raise AssemblerError(
            f"{assembler.name} is too old for kernels that change tensor maps",
            found=f"CUDA {version[0]}.{version[1]}",
            expected=f"CUDA {_STRIDES_IN_BYTES[0]}.{_STRIDES_IN_BYTES[1]} or newer",
            instead="pip install -U 'triptych[cuda]'",
        )


def refused(architecture: Architecture, words: str) -> AssemblerError:
    """The error of PTX that the assembler does not take."""
    return AssemblerError(f"the assembler refused the code for {architecture.name}", found=words.strip())
