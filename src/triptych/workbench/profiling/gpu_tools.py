"""Nsight command lines for a kernel file, with only its calls in the profiled range.

They run `in_range`, which calls the kernel once before the range begins: compiling and loading are not in it. The
commands follow their documentation; no GPU was there to try them on.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

TOOLS = ("ncu", "nsys")
_MODULE = "triptych.workbench.profiling.in_range"


def command(tool: str, file: Path, case: str, calls: int) -> list[str]:
    """The words of a command."""
    program = [sys.executable, "-m", _MODULE, str(file), "--calls", str(calls), *(["--case", case] if case else [])]
    if tool == "ncu":
        return [
            "ncu",
            "--profile-from-start",
            "off",
            "--set",
            "full",
            "--import-source",
            "yes",
            "-o",
            file.stem,
            *program,
        ]
    ranges = ["--capture-range=cudaProfilerApi", "--capture-range-end=stop", "--trace=cuda,nvtx"]
    return ["nsys", "profile", *ranges, "-o", file.stem, *program]


def is_here(tool: str) -> bool:
    """On the PATH."""
    return shutil.which(tool) is not None


def shown(words: list[str]) -> str:
    """As a shell takes it, with lines of the source in what ncu shows."""
    return f"TRIPTYCH_LINE_INFO=1 {shlex.join(words)}"
