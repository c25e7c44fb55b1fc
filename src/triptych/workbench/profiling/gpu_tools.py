"""Nsight command lines for a kernel file, with only its calls in the profiled range.

`python -m triptych.workbench.profiling.gpu_tools FILE` is what they run. It calls the kernel once before the range
begins: compiling and loading are not in it. The commands follow their documentation; no GPU was there to try them on.
"""

from __future__ import annotations

import argparse
import ctypes
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.support.forking import import_late

if TYPE_CHECKING:
    from triptych.workbench.contracts.contract import Contract

TOOLS = ("ncu", "nsys")
_MODULE = "triptych.workbench.profiling.gpu_tools"


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


_DRIVER = "libcuda.so.1"


def main(words: list[str] | None = None) -> int:
    """Call the kernel of a file in a range; the exit code."""
    parser = argparse.ArgumentParser(prog="in_range")
    parser.add_argument("file", type=Path)
    parser.add_argument("--case", default="")
    parser.add_argument("--calls", type=int, default=3)
    chosen = parser.parse_args(words)
    try:
        driver = ctypes.CDLL(_DRIVER)
    except OSError:
        print(f"in_range: error: there is no {_DRIVER} here: NVIDIA's profilers need a GPU's driver", file=sys.stderr)
        return 2
    loading = import_late("triptych.workbench.contracts.loading")  # NumPy: only what profilers run needs it
    run(loading.load_contract(chosen.file), chosen.case, chosen.calls, driver)
    return 0


def run(contract: Contract, case: str, calls: int, driver: Any) -> None:
    """One call before the range, then so many in it."""
    inputs = contract.inputs(0, import_late("triptych.workbench.contracts.contract").parameters_of(contract, case))
    contract.kernel(*inputs)
    with profiled(driver.cuCtxSynchronize, driver.cuProfilerStart, driver.cuProfilerStop):
        for _ in range(calls):
            contract.kernel(*inputs)


@contextmanager
def profiled(wait: Callable[[], Any], start: Callable[[], Any], stop: Callable[[], Any]) -> Iterator[None]:
    """The range: what was launched before has ended when it begins, and what is launched inside when it ends."""
    wait()
    start()
    try:
        yield
        wait()
    finally:
        stop()


if __name__ == "__main__":
    sys.exit(main())
