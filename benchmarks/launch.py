"""What a kernel launch on the CPU costs: beside the call that makes it, when threads are awake or parked, per block.

    python -m benchmarks.launch [--json]

The launches are measured in turns, many times over, and the smallest time of each counts: the machine's other work
hits all of them alike. Of launches that wake parked threads the median counts.
"""

from __future__ import annotations

import statistics
import sys
import time
import timeit
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import triptych as tt
from benchmarks.rows import Row, run
from triptych import cute

TURNS = 30
CALLS = 1000
"""In a turn; fewer of large grids."""
GRIDS = (10, 100, 1_000, 10_000, 100_000)
STEPS = 300
PARKED_AFTER = 0.002
"""Seconds after which threads have stopped spinning."""


@tt.kernel
def scramble(numbers: cute.Tensor, steps: tt.Int32) -> None:
    block, _, _ = cute.arch.block_idx()
    number = numbers[block]
    for _ in range(steps):
        number = number * number + 1
    numbers[block] = number


@tt.jit
def launch(numbers: cute.Tensor, steps: tt.Int32, blocks: tt.Int32) -> None:
    scramble(numbers, steps).launch(grid=blocks, block=1)


def smallest(compiled: Any, numbers: Any, cases: Sequence[tuple[int, int]]) -> list[float]:
    """Nanoseconds of a call for each case of steps and blocks."""
    timers = [timeit.Timer(partial(compiled, numbers, *case)) for case in cases]
    counts = [max(1, CALLS // max(1, blocks)) for _, blocks in cases]
    for timer in timers:
        timer.timeit(3)
    best = [float("inf")] * len(cases)
    for _ in range(TURNS):
        for i, (timer, count) in enumerate(zip(timers, counts, strict=True)):
            best[i] = min(best[i], timer.timeit(count) / count * 1e9)
    return best


def parked(compiled: Any, numbers: Any, blocks: int) -> float:
    """Nanoseconds of a call after a pause."""
    times = []
    for _ in range(TURNS * 5):
        time.sleep(PARKED_AFTER)
        started = time.perf_counter_ns()
        compiled(numbers, 0, blocks)
        times.append(time.perf_counter_ns() - started)
    return statistics.median(times)


def measure() -> Sequence[Row]:
    """Launches less the same call with no block to run; blocks of dependent steps relative to the largest grid."""
    numbers = np.zeros(max(GRIDS), np.int32)
    compiled = tt.compile(launch, numbers, 1, 1)
    nothing, one, two, *grids = smallest(
        compiled, numbers, [(0, 0), (0, 1), (0, 2), *((STEPS, grid) for grid in GRIDS)]
    )
    each = [(whole - nothing) / grid for whole, grid in zip(grids, GRIDS, strict=True)]
    waking = parked(compiled, numbers, 2) - parked(compiled, numbers, 0)
    return [
        Row("call that launches no block", nothing, "ns"),
        Row("1 block, by the caller", one - nothing, "ns", 100),
        Row("2 blocks, threads awake", (two - nothing) / 1000, "us", 3),
        Row("2 blocks, threads parked", waking / 1000, "us", 30),
        Row(f"each of {GRIDS[-1]:,} blocks of {STEPS} steps", each[-1], "ns"),
        *(
            Row(f"each of {grid:,}", time / each[-1], "x that", 2.0)
            for grid, time in zip(GRIDS[:-1], each, strict=False)
        ),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
