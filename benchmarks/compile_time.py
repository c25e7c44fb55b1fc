"""Compile time on the CPU: seconds of processor time, of this process and of the worker that runs LLVM.

    python -m benchmarks.compile_time [--quick] [--json]

The matrix examples, each compiled once after a small program has loaded everything; then kernels of n strided accesses,
branches or barriers: how many times as long the second n takes as the first, of twice the size. Processor time does not
count what others do on the machine, but they slow it down all the same: compare figures of one quiet machine only.
All sizes take a minute and a half of it, those of `--quick` a quarter.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import triptych as tt
from benchmarks.kernel_programs import growing
from benchmarks.matrix_rounds import example
from benchmarks.rows import Row, run
from triptych.ir.llvm.worker import shared_pool

EXAMPLE_SECONDS = 2.5
SIZES = (500, 1_000, 2_000)
QUICK_SIZES = (250, 500)
DOUBLED = 2.2
"""Times that twice the size may take."""
_TICKS = os.sysconf("SC_CLK_TCK")
_TIMES = slice(11, 15)
"""Fields of `/proc/<pid>/stat` after the name: user and system, of the process and of its ended children."""


def processor_seconds() -> float:
    """Of this process, of the workers that live, and of what those have forked."""
    stats = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in shared_pool().pids())
    ticks = sum(sum(map(int, fields[_TIMES])) for fields in stats)
    return time.process_time() + ticks / _TICKS


def compile_seconds(function: Any, *arguments: Any) -> float:
    before = processor_seconds()
    tt.compile(function, *arguments)
    return processor_seconds() - before


def examples() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """The kernels that take longest, with arguments that they are compiled for."""
    gemm, attention = example("tensor_core_gemm"), example("flash_attention")
    matrix = np.zeros((128, 128), np.float32)
    yield "SGEMM", example("sgemm").sgemm, (matrix, matrix, matrix)
    half = gemm.operand_of(gemm.numbers((128, 128), np.float16, 0))
    yield "tensor-core GEMM", gemm.gemm, (half, half, matrix)
    for causal in (False, True):
        heads = [attention.tensor_of(array) for array in attention.sample((1, 128, 2, 64), 128)]
        yield f"attention, {'causal' if causal else 'all keys'}", attention.attention, (*heads, heads[0], causal)


def measure(sizes: Sequence[int] = SIZES) -> Sequence[Row]:
    x = np.zeros(growing.THREADS * max(sizes), np.float32)
    tt.compile(growing.arithmetic, x, 0)
    rows = [
        Row(f"compile {name}", compile_seconds(function, *arguments), "s", EXAMPLE_SECONDS)
        for name, function, arguments in examples()
    ]
    for function in (growing.strided_accesses, growing.branches, growing.barriers):
        taken = [compile_seconds(function, x, size) for size in sizes]
        name = function.__name__
        rows += [Row(f"compile {size:,} {name}", s, "s") for size, s in zip(sizes, taken, strict=True)]
        rows += [
            Row(f"{more:,} {name}", later / before, f"x {fewer:,}", DOUBLED)
            for fewer, more, before, later in zip(sizes, sizes[1:], taken, taken[1:], strict=False)
        ]
    return rows


if __name__ == "__main__":
    sys.exit(run(__doc__, measure, quick=lambda: measure(QUICK_SIZES)))
