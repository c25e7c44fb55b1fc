"""PTX to a cubin, by the assembler that the settings name or the first one that is installed."""

from __future__ import annotations

from collections.abc import Mapping

from triptych.ir import bindings
from triptych.support.config import config
from triptych.targets.nvptx.toolchain.assembler import Assembler
from triptych.targets.nvptx.toolchain.driver_assembler import DriverAssembler
from triptych.targets.nvptx.toolchain.locate import missing
from triptych.targets.nvptx.toolchain.nvjitlink import NvJitLink
from triptych.targets.nvptx.toolchain.ptxas import Ptxas

ASSEMBLERS: tuple[Assembler, ...] = (NvJitLink(), Ptxas())
"""Those that may be installed. The driver's own is used only where it is asked for: it reports nothing."""


def find_assembler() -> Assembler:
    """The assembler to use now."""
    wanted = config().assembler
    known: dict[str, Assembler] = {each.name: each for each in (*ASSEMBLERS, DriverAssembler())}
    candidates = [known[wanted.lower()]] if wanted else list(ASSEMBLERS)
    for assembler in candidates:
        if assembler.version() is not None:
            return assembler
    extra = "cuda-tools" if wanted == "ptxas" else "cuda"
    raise missing(f"an assembler ({' or '.join(a.name for a in candidates)})", extra)


def has_assembler() -> bool:
    """Whether one is installed that reports what kernels take of a GPU."""
    return any(assembler.version() is not None for assembler in ASSEMBLERS)


def toolchain() -> Mapping[str, str]:
    """The tools that decide the generated code."""
    assembler = find_assembler()
    major, minor = assembler.version() or (0, 0)
    return {assembler.name: f"{major}.{minor}", **bindings.versions()}
