"""`python -m triptych.workbench.profiling.in_range FILE`: what NVIDIA's profilers run; its calls are their range."""

from __future__ import annotations

import argparse
import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from triptych.workbench.contracts.contract import Contract, parameters_of
from triptych.workbench.contracts.loading import load_contract

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
    run(load_contract(chosen.file), chosen.case, chosen.calls, driver)
    return 0


def run(contract: Contract, case: str, calls: int, driver: Any) -> None:
    """One call before the range, then so many in it."""
    inputs = contract.inputs(0, parameters_of(contract, case))
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
