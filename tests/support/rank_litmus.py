"""Litmus tests whose threads are processes: each runs one thread of a test, in memory that all of them map.

The threads, their orders and what is allowed are those of `litmus`; the scope is the system.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import triptych as tt
from tests.support.litmus import INSTANCES, LINE, LONGEST, TESTS, Outcome, launched, outcomes_of
from tests.support.rank_memory import array_at, run_ranks
from triptych.cute.nvgpu import MemoryScope
from triptych.ranks.heap import SymmetricHeap
from triptych.support.config import override

MOST_THREADS = 4
Found = dict[tuple[str, str], Counter[Outcome]]


def outcomes_across_ranks(names: list[str], orders: list[str], launches: int) -> Found:
    """How often each outcome was seen, by the test and the order of its accesses."""
    found: Found = run_ranks(MOST_THREADS, _as_rank, names, orders, launches)[0]
    assert isinstance(found, dict), found
    return found


def _as_rank(heap: SymmetricHeap, names: list[str], orders: list[str], launches: int) -> Found:
    """Rank 0 prepares and counts; a rank without a thread in a test only comes to the barriers."""
    there, random = heap.group, np.random.default_rng(0)
    sizes = {"memory": 4 * INSTANCES * LINE, "results": 8 * INSTANCES, "places": INSTANCES}
    sizes |= {"delays": MOST_THREADS * INSTANCES, "arrived": LINE}
    shared = {name: array_at(heap.address(0, heap.allocate(4 * size)), size, np.int32) for name, size in sizes.items()}
    found: Found = {}
    with override(threads=1):
        for test in [test for test in TESTS if test.name in names]:
            for order in orders:
                results = shared["results"].reshape(8, INSTANCES)
                given = shared["memory"], results, shared["places"], shared["delays"], shared["arrived"]
                call: Any = None
                if there.rank < len(test.threads):
                    call = tt.compile(launched, *given, test, order, 1, there.rank, 1, MemoryScope.SYS)
                for _ in range(launches):
                    if there.rank == 0:
                        shared["memory"][:], shared["arrived"][:] = 0, 0
                        shared["places"][:] = random.permutation(INSTANCES)
                        shared["delays"][:] = random.integers(0, LONGEST, shared["delays"].size)
                    there.barrier()
                    if call is not None:
                        call(*given, there.rank)
                    there.barrier()
                    if there.rank == 0:
                        final = shared["memory"].reshape(4, INSTANCES, LINE)[: test.locations, :, 0]
                        seen = found.setdefault((test.name, order), Counter())
                        seen += outcomes_of(test, results, final)
    return found
