"""Writes the figures of the performance page and of the README, with their plots.

    python -m benchmarks.report --public FOLDER     all sections; under twelve minutes on two cores
    python -m benchmarks.report call-overhead       one section, or several
    python -m benchmarks.report --draw              pictures and pages again, from the figures as they are

The machine must be idle: its load average stands beside each figure. Sections that compare with CuTe DSL need FOLDER,
which is `examples/python/CuTeDSL` of a clone of NVIDIA/cutlass; those that compare with OpenCL need Intel's runtime
(see `opencl_peer`), those that compare with torch need torch.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import triptych
from benchmarks.opencl_peer import runtime
from benchmarks.report_sections import ON_PUBLIC_EXAMPLES, SECTIONS
from docs.site import performance
from triptych.targets.nvptx.toolchain.assembling import find_assembler

PACKAGES = {
    "compile-time": ("torch-mlir", "llvmlite"),
    "compile-time-gpu": ("torch-mlir", "llvmlite"),
    "sass": ("torch-mlir", "llvmlite"),
    "tensor-arguments": ("numpy", "torch", "apache-tvm-ffi"),
    "call-overhead": ("apache-tvm-ffi",),
    "cpu-kernels": ("numpy", "llvmlite", "intel-opencl-rt"),
    "matrix-kernels": ("numpy", "llvmlite", "intel-opencl-rt"),
    "checkers": ("llvmlite",),
}
"""Of each section, the packages whose versions matter."""


def machine() -> str:
    """Model of the CPU, cores, memory: what figures depend on, and nothing that says whose machine it is."""
    names = (line.partition(": ")[2] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{next(names, platform.machine())}, {os.cpu_count()} cores, {memory:.0f} GiB"


def versions(section: str) -> dict[str, str]:
    """Versions of what takes part in a section."""
    found = {"triptych": triptych.__version__, "Python": platform.python_version()}
    found |= {name: importlib.metadata.version(name) for name in PACKAGES[section]}
    if section not in ON_PUBLIC_EXAMPLES:
        return found
    assembler = find_assembler()
    return found | {assembler.name: ".".join(map(str, assembler.version() or ()))}


def measured(section: str, folder: Path | None) -> dict[str, Any]:
    """What the JSON says of a section."""
    load, began = os.getloadavg()[0], time.perf_counter()
    bars = SECTIONS[section]() if folder is None else ON_PUBLIC_EXAMPLES[section](folder)
    return {
        "command": f"python -m benchmarks.report {section}{'' if folder is None else ' --public FOLDER'}",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "versions": versions(section),
        "load": round(load, 2),
        "seconds": round(time.perf_counter() - began),
        "bars": {name: {series: round(value, 3) for series, value in group.items()} for name, group in bars.items()},
    }


def missing(sections: Sequence[str], folder: Path | None) -> str:
    """What must be there before anything is measured and is not, as a sentence."""
    if set(sections) & set(ON_PUBLIC_EXAMPLES) and not (folder and (folder / "cute").is_dir()):
        return "--public FOLDER must be the folder examples/python/CuTeDSL of a clone of NVIDIA/cutlass"
    if {"cpu-kernels", "matrix-kernels"} & set(sections) and runtime() is None:
        return "OpenCL is not installed: pip install pyopencl intel-opencl-rt intel-cmplr-lib-rt"
    if "tensor-arguments" in sections and importlib.util.find_spec("torch") is None:
        return "torch is not installed: pip install torch"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(performance.SECTIONS))
    parser.add_argument("--public", type=Path, metavar="FOLDER", help="public examples of CuTe DSL")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    given = parser.parse_args()
    if unknown := set(given.sections) - set(performance.SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(performance.SECTIONS)}")
    sections = [] if given.draw else given.sections or list(performance.SECTIONS)
    if absent := missing(sections, given.public):
        parser.error(absent)
    for section in sections:
        print(f"{section} …", file=sys.stderr, flush=True)
        found = measured(section, given.public if section in ON_PUBLIC_EXAMPLES else None)
        performance.save(dict(performance.figures()) | {section: found})
    for path in performance.write():
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
