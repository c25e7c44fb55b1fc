"""The assembler as the library nvJitLink, in this process: half the time of the program for a small kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from triptych.targets.nvptx.description.architectures import Architecture
from triptych.targets.nvptx.toolchain.assembler import Assembled, AssemblerOptions, refused
from triptych.targets.nvptx.toolchain.locate import load


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
