"""Toolchain search: NVIDIA's programs and libraries beside this Python, in a toolkit, or on the PATH.

`cuda-pathfinder` knows the places that packages, conda and toolkits use. It takes 0.3 s to import, so it is asked only
when a kernel is compiled, and each question once.
"""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

from triptych.objectstage.device_errors import MissingToolError
from triptych.support.forking import import_late

_TOOLKIT = Path("/usr/local/cuda")
"""Where NVIDIA's installer puts a toolkit on Linux."""
_LIBDEVICE = Path("nvvm", "libdevice", "libdevice.10.bc")


def load(module: str) -> Any | None:
    """A module of the CUDA packages, if it is installed and what it stands for can be loaded."""
    try:
        return import_late(module)
    except (ImportError, RuntimeError):
        return None


@cache
def find_program(name: str) -> str | None:
    """The path of a program."""
    pathfinder = load("cuda.pathfinder")
    found = pathfinder.find_nvidia_binary_utility(name) if pathfinder is not None else None
    return found or shutil.which(name)


@cache
def program(name: str) -> str:
    """The path of a program that must be there."""
    found = find_program(name)
    if found is None:
        raise missing(f"the program {name}", "cuda-tools")
    return found


@cache
def libdevice() -> str:
    """NVIDIA's library of mathematical functions, as LLVM bitcode."""
    pathfinder = load("cuda.pathfinder")
    if pathfinder is not None:
        try:
            return str(pathfinder.find_bitcode_lib("device"))
        except pathfinder.BitcodeLibNotFoundError:
            pass  # a toolkit that only the PATH leads to
    programs = [found for name in ("nvcc", "ptxas") if (found := find_program(name))]
    for toolkit in (*(Path(found).resolve().parent.parent for found in programs), _TOOLKIT):
        if (toolkit / _LIBDEVICE).is_file():
            return str(toolkit / _LIBDEVICE)
    raise missing("libdevice, which has the mathematical functions of GPUs,", "cuda")


def missing(what: str, extra: str) -> MissingToolError:
    """The error that names the extra which brings a tool."""
    return MissingToolError(
        f"{what} is needed to compile for NVIDIA GPUs and cannot be found",
        expected="an installed package, or a CUDA toolkit on the PATH",
        instead=f"pip install 'triptych[{extra}]'",
    )
