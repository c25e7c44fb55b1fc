"""Run by `benchmarks.kernels` with two threads for every system: prints the seconds of each, round by round.

    python -m benchmarks.kernel_rounds [--small] [--only NAME]

In a round every system runs in turn, first once without being timed: the threads of the one before still spin.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

from benchmarks.kernel_cases import FULL, SMALL, Case, Run, cases
from benchmarks.opencl_peer import opencl

ROUNDS = 8
CALLS = 3
THREADS = 2


def seconds(run: Run) -> float:
    """Of the fastest of several calls."""
    run()
    best = float("inf")
    for _ in range(CALLS):
        started = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - started)
    return best


def rounds_of(case: Case) -> dict[str, Any]:
    """A checked case with all times of all systems."""
    case.check()
    load = os.getloadavg()[0]
    times: dict[str, list[float]] = {system: [] for system in case.systems}
    for _ in range(ROUNDS):
        for system, run in case.systems.items():
            times[system].append(seconds(run))
    problem = case.problem
    return {"name": problem.name, "work": problem.work, "unit": problem.unit, "load": load, "seconds": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="sizes at which only the results mean anything")
    parser.add_argument("--only", default="", metavar="NAME", help="the kernels with this in their name")
    chosen = parser.parse_args()
    peer = opencl(THREADS)
    measured = [rounds_of(case) for case in cases(SMALL if chosen.small else FULL, chosen.only, peer)]
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
