"""How kernels scale: time per block from few blocks to many, and compile time from few operations to many.

    python -m benchmarks.kernel_growth [--json]

All sizes are measured in turns. Of blocks the median of the ratios counts, which share what disturbs a turn, of
compilations the smallest time. Growth of compile time is that of the milliseconds that more operations add: what a
compilation costs in any case is not in it.
"""

from __future__ import annotations

import sys
import time
import timeit
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import triptych as tt
from benchmarks.kernel_programs import growing
from benchmarks.rows import Row, run
from benchmarks.trace_cost import operations_in

GRIDS = (10, 100, 1_000, 10_000, 100_000)
STEPS = 20
TURNS = 8
FLAT = 1.5
"""Time per block, relative to that in the largest grid."""
SIZES = (100, 1_000, 5_000)
COMPILATIONS = 2
LINEAR = 2.0
"""Time per added operation from the second size to the third, relative to that from the first to the second."""


def time_per_block() -> Iterator[Row]:
    """Each turn runs the largest grid once and a smaller one as often as makes as many blocks."""
    sums = np.zeros(max(GRIDS), np.float32)
    compiled = tt.compile(growing.blocks_of_work, sums, STEPS, 1)
    timers = {grid: timeit.Timer(partial(compiled, sums, STEPS, grid)) for grid in GRIDS}
    seconds: dict[int, list[float]] = {grid: [] for grid in GRIDS}
    for _ in range(TURNS):
        for grid, timer in timers.items():
            seconds[grid].append(timer.timeit(max(GRIDS) // grid) / max(GRIDS))
    largest = seconds[max(GRIDS)]
    yield Row(f"each of {max(GRIDS):,} blocks", min(largest) * 1e6, "us")
    for grid in GRIDS[:-1]:
        ratios = [small / large for small, large in zip(seconds[grid], largest, strict=True)]
        yield Row(f"each of {grid:,} blocks", median(ratios), "x that", FLAT)


def compile_time(function: Any) -> Iterator[Row]:
    x = np.zeros(growing.THREADS, np.float32)
    name = function.__name__
    counts: dict[int, int] = {}
    best = dict.fromkeys(SIZES, float("inf"))
    tt.compile(function, x, 0)
    for turn in range(COMPILATIONS):
        for size in SIZES:
            started = time.perf_counter()
            compiled = tt.compile(function, x, size + 20 * turn)  # another size: nothing is found in a table
            best[size] = min(best[size], time.perf_counter() - started)
            counts[size] = operations_in(compiled._loaded.compiled.lowered.traced.module)
    for size in SIZES:
        yield Row(f"compile {name}, {counts[size]:,} operations", best[size] * 1e3, "ms wall")
    first, second, third = SIZES
    early, late = (
        (best[more] - best[fewer]) / (counts[more] - counts[fewer])
        for fewer, more in ((first, second), (second, third))
    )
    yield Row(f"compile {name}, each operation more", late * 1e6, "us wall")
    yield Row(f"compile {name}, growth", late / early, "times", LINEAR)


def measure() -> Sequence[Row]:
    """Blocks first: compiling leaves the machine warm."""
    return [
        *time_per_block(),
        *compile_time(growing.arithmetic),
        *compile_time(growing.barriers_and_branches),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
