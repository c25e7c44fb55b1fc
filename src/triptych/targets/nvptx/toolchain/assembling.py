"""PTX to a cubin, by the assembler that the settings name or the first one that is installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from triptych.ir import bindings
from triptych.support.config import config
from triptych.support.dataclass import dataclass
from triptych.targets.nvptx.description.architectures import Architecture
from triptych.targets.nvptx.toolchain.assembler import (
    Assembled,
    Assembler,
    AssemblerOptions,
    newest_ptx,
    ptx_version,
    refused,
)
from triptych.targets.nvptx.toolchain.locate import load, missing
from triptych.targets.nvptx.toolchain.programs import Ptxas

# The assembler as the library nvJitLink, in this process: half the time of the program for a small kernel.


@dataclass(frozen=True, slots=True)
class NvJitLink:
    """The library through `cuda.bindings`."""

    name: str = "nvjitlink"

    def version(self) -> tuple[int, int] | None:
        return _version()

    def assemble(self, ptx: str, architecture: Architecture, options: AssemblerOptions) -> Assembled:
        library = _library()
        words = [f"-arch={architecture.name}", f"-Xptxas=-O{options.opt_level}", "-verbose", "-Xptxas=-v"]
        words += ["-lineinfo"] if options.line_info else []
        words += [f"-Xptxas={word}" for word in options.more]
        handle = library.create(len(words), words)
        try:
            text = ptx.encode()
            library.add_data(handle, library.InputType.PTX, text, len(text), "kernels.ptx")
            library.complete(handle)
            cubin = bytearray(library.get_linked_cubin_size(handle))
            library.get_linked_cubin(handle, cubin)
            return Assembled(bytes(cubin), _log(handle, library.get_info_log_size, library.get_info_log))
        except library.nvJitLinkError as error:
            words_of_refusal = _log(handle, library.get_error_log_size, library.get_error_log)
            raise refused(architecture, words_of_refusal or str(error)) from None
        finally:
            library.destroy(handle)


@cache
def _library() -> Any:
    return load("cuda.bindings.nvjitlink")


@cache
def _version() -> tuple[int, int] | None:
    """The packages may be there without the library that they bind: asking for its version finds out."""
    library = _library()
    if library is None:
        return None
    try:
        major, minor = library.version()
    except Exception:  # of a class that only the missing library's package defines
        return None
    return int(major), int(minor)


def _log(handle: object, size: Callable[[object], int], read: Callable[[object, bytearray], object]) -> str:
    text = bytearray(size(handle))
    if text:
        read(handle, text)
    return text.decode(errors="replace").rstrip("\0\n ")


# The assembler that is part of NVIDIA's driver: it is given PTX in the place of a cubin, when a kernel is loaded.
# Nothing need be installed for it, and nothing is known beforehand of registers. It knows the newest PTX that LLVM
# writes; a driver that is older refuses the kernel.


class DriverAssembler:
    """PTX as it is. A driver wants it to end with a zero."""

    name = "driver"

    def version(self) -> tuple[int, int]:
        return 13, 0

    def assemble(self, ptx: str, architecture: Architecture, options: AssemblerOptions) -> Assembled:
        return Assembled(ptx.encode() + b"\0", "")


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
