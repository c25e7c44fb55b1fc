"""PTX to a cubin, by the assembler that the settings name or the first one that is installed."""

from __future__ import annotations

from collections.abc import Mapping

from triptych.ir import bindings
from triptych.support.config import config
from triptych.targets.nvptx.description.architectures import Architecture
from triptych.targets.nvptx.toolchain.assembler import Assembler, newest_ptx, ptx_version
from triptych.targets.nvptx.toolchain.driver_assembler import DriverAssembler
from triptych.targets.nvptx.toolchain.locate import missing
from triptych.targets.nvptx.toolchain.nvjitlink import NvJitLink
from triptych.targets.nvptx.toolchain.ptxas import Ptxas

ASSEMBLERS: tuple[Assembler, ...] = (NvJitLink(), Ptxas())
"""Those that may be installed. The driver's own is used only where it is asked for: it reports nothing."""
_REGISTER_COUNTS = "setmaxnreg"


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


def assembler_for(ptx: str, architecture: Architecture) -> Assembler:
    """The assembler to use now for this code.

    nvJitLink compiles every unit for others that might be linked with it, and ignores `setmaxnreg` for their sake; the
    program does not. Where both are installed and nobody has chosen, it assembles such code.
    """
    usual = find_assembler()
    if config().assembler or _REGISTER_COUNTS not in ptx:
        return usual
    able = [each for each in ASSEMBLERS if isinstance(each, Ptxas) and each.version() is not None]
    wanted = ptx_version(usual, architecture)
    return next((each for each in able if newest_ptx(each) >= wanted), usual)


def has_assembler() -> bool:
    """Whether one is installed that reports what kernels take of a GPU."""
    return any(assembler.version() is not None for assembler in ASSEMBLERS)


def toolchain() -> Mapping[str, str]:
    """The tools that decide the generated code."""
    used = {assembler.name: assembler.version() for assembler in ASSEMBLERS}
    usual = find_assembler()
    if config().assembler:
        used = {usual.name: usual.version()}
    present = {name: f"{version[0]}.{version[1]}" for name, version in used.items() if version is not None}
    return {"assembler": usual.name, **present, **bindings.versions()}
