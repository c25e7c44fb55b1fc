"""Kernels from nothing: a script with one kernel in a fresh process, and new kernels in a process that is warm.

    python -m benchmarks.cold_start [--json]

Every warm compilation is of functions that were never seen: the file that holds them is executed again. Wall times are
the smallest of several; the worker that runs LLVM is another process.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

import triptych as tt
from benchmarks.kernel_programs import elementwise, gemm
from benchmarks.rows import Row, installed_environment, run

FRESH, WARM = 10, 15
SCRIPT = Path(__file__).parent / "kernel_programs" / "first_kernel.py"
VECTOR, MATRIX = np.zeros(1024, np.float32), np.zeros((128, 128), np.float32)
COMPILATIONS: tuple[tuple[ModuleType, str, Any, float | None], ...] = (
    (elementwise, "vector_add", VECTOR, 150.0),
    (gemm, "tiled_gemm", MATRIX, 400.0),
    (gemm, "register_gemm", MATRIX, None),
)
"""The module, the function in it, its three tensors and the milliseconds promised."""


def fresh_process(environment: Mapping[str, str]) -> tuple[float, float]:
    """Milliseconds from the start of Python to the result, by the wall clock and of the process itself."""
    started = time.time()
    output = subprocess.run([sys.executable, str(SCRIPT)], env=environment, capture_output=True, check=True).stdout
    done, cpu = map(float, output.split())
    return (done - started) * 1e3, cpu * 1e3


def compilation(module: ModuleType, name: str, tensor: Any) -> tuple[float, float]:
    """Milliseconds to trace and compile a new function, by the wall clock and of this process."""
    function = getattr(importlib.reload(module), name)
    started, cpu = time.perf_counter(), time.process_time()
    tt.compile(function, tensor, tensor, tensor, tensor.shape[0])
    return (time.perf_counter() - started) * 1e3, (time.process_time() - cpu) * 1e3


def rows_of(what: str, runs: Sequence[tuple[float, float]], bar: float | None) -> Iterator[Row]:
    wall, cpu = zip(*runs, strict=True)
    yield Row(f"{what}, best", min(wall), "ms wall", bar)
    yield Row(f"{what}, median", median(wall), "ms wall")
    yield Row(f"{what}, the calling process", min(cpu), "ms CPU")


def measure() -> Sequence[Row]:
    """The compilations in turns, after one of each that is not counted."""
    with installed_environment() as environment:
        fresh_process(environment)
        rows = [*rows_of("fresh process to result", [fresh_process(environment) for _ in range(FRESH)], 1000.0)]
    runs: dict[str, list[tuple[float, float]]] = {name: [] for _, name, _, _ in COMPILATIONS}
    for _ in range(1 + WARM):
        for module, name, tensor, _ in COMPILATIONS:
            runs[name].append(compilation(module, name, tensor))
    for _, name, _, bar in COMPILATIONS:
        rows += rows_of(f"trace and compile {name}", runs[name][1:], bar)
    return rows


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
