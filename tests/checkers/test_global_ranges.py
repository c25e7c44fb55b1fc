"""Ranges of global memory that two blocks access: a finding exactly where they overlap and one of them writes.

Records of units of 16 cells, and cells of their own where ranges begin or end inside of one, must say the same.
"""

from __future__ import annotations

from random import Random

import numpy as np

import triptych as tt
from triptych import cute
from triptych.sanitizer.findings import collecting
from triptych.support.config import override

THREADS, CELLS, READS, WRITES = 64, 4096, 0, 1


@tt.kernel
def access_ranges(x: cute.Tensor, plan: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    start, count, does, step = plan[block, 0], plan[block, 1], plan[block, 2], plan[block, 3]
    total = tt.Float32(0.0)
    if thread < count:
        if does == WRITES:
            x[start + thread * step] = tt.Float32(block + 1)
        else:
            total = x[start + thread * step]
    for i in range(8):
        total += x[CELLS + i]
    if total > 1e30:
        x[CELLS + 64 * (block + 1) + thread] = total


@tt.jit
def run(x: cute.Tensor, plan: cute.Tensor) -> None:
    access_ranges(x, plan).launch(grid=3, block=THREADS)


def cells(row: list[int]) -> set[int]:
    start, count, _, step = row
    return {start + thread * step for thread in range(count)}


def races(plan: list[list[int]]) -> bool:
    pairs = ((one, other) for i, one in enumerate(plan) for other in plan[:i])
    return any(WRITES in (one[2], other[2]) and cells(one) & cells(other) for one, other in pairs)


def test_findings_are_where_ranges_overlap() -> None:
    source, seen = Random(17), {True: 0, False: 0}
    memory = np.zeros(CELLS + 320, np.float32)
    with override(debug="global", cache=False):
        compiled = tt.compile(run, memory, np.zeros((3, 4), np.int32))
        for _ in range(150):
            base = source.choice([0, 1008, 1024 * source.randrange(3) + source.randrange(900)])
            plan = [
                [
                    base + source.choice([0, 16, 32, 64, 1, 15, 17, source.randrange(100)]),
                    source.choice([1, 8, 16, 32, 33, 64]),
                    source.choice([READS, WRITES]),
                    source.choice([1, 1, 1, 0 if source.random() < 0.2 else 2]),
                ]
                for _ in range(3)
            ]
            for row in plan:
                if row[3] == 0:
                    row[2] = READS
            with collecting() as found:
                compiled(memory, np.array(plan, np.int32))
            assert bool(found.findings) == races(plan), plan
            seen[races(plan)] += 1
    assert min(seen.values()) > 30, seen
