"""Litmus tests on real threads: which outcomes the orders of memory accesses leave, over many runs of each test.

    python -m benchmarks.litmus --runs 10000000
    python -m benchmarks.litmus --tests "store buffering" --orders sc --lanes 32 --json

Run from the root of the repository. An outcome that no interleaving has is weak; the exit status is 1 when one was seen
where the order forbids it. Weak outcomes that are allowed show that a test could fail: x86 has those of store buffering
and of R, machines with a weaker memory also others.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass

from tests.support.litmus import INSTANCES, ORDERS, TESTS, Litmus, Outcome, run

SECONDS_BETWEEN_LINES = 1.0


@dataclass(frozen=True, slots=True)
class Found:
    """The outcomes of one test under one order."""

    test: Litmus
    order: str
    lanes: int
    outcomes: Counter[Outcome]

    @property
    def weak(self) -> int:
        """Runs whose outcome no interleaving has."""
        sequential = self.test.sequential()
        return sum(number for outcome, number in self.outcomes.items() if outcome not in sequential)

    @property
    def forbidden(self) -> int:
        return self.weak if self.test.forbids_weak(self.order) else 0

    @property
    def verdict(self) -> str:
        if self.test.forbids_weak(self.order):
            return "FORBIDDEN" if self.weak else "forbidden, never"
        return "allowed, seen" if self.weak else "allowed, never"

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "test": self.test.name,
            "order": self.order,
            "lanes": self.lanes,
            "runs": self.outcomes.total(),
            "weak": self.weak,
            "forbidden": self.forbidden,
            "outcomes": {_text(outcome): number for outcome, number in sorted(self.outcomes.items())},
        }

    def __str__(self) -> str:
        outcomes = "  ".join(f"{_text(outcome)}: {number:,}" for outcome, number in sorted(self.outcomes.items()))
        head = f"{self.test.name:<24} {self.order:<16} {self.lanes:>5} {self.outcomes.total():>12,} {self.weak:>10,}"
        return f"{head}  {self.verdict:<17} {outcomes}"


def _text(outcome: Outcome) -> str:
    return "".join(map(str, outcome))


def measured(test: Litmus, order: str, lanes: int, runs: int, seed: int, shows_progress: bool) -> Found:
    """Run one test under one order until it has run often enough."""
    outcomes: Counter[Outcome] = Counter()
    last = time.monotonic()
    for found in run(test, order, -(-runs // INSTANCES), lanes, seed):
        outcomes += found
        if shows_progress and time.monotonic() - last > SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"\r{test.name}, {order}: {outcomes.total():,} of {runs:,}", end="\033[K", file=sys.stderr)
    if shows_progress:
        print("\r", end="\033[K", file=sys.stderr)
    return Found(test, order, lanes, outcomes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000, help="runs of each test under each order")
    parser.add_argument("--tests", nargs="*", default=[test.name for test in TESTS], help="which tests")
    parser.add_argument("--orders", nargs="*", default=list(ORDERS), help="which orders")
    parser.add_argument(
        "--lanes", nargs="*", type=int, default=[1], help="threads of a block, each with its own places"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the order in which places of memory are used")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    given = parser.parse_args()
    chosen = [
        (test, order, lanes)
        for test in TESTS
        for order in ORDERS
        for lanes in given.lanes
        if test.name in given.tests and order in given.orders
    ]
    if not given.json:
        print(f"{'test':<24} {'order':<16} {'lanes':>5} {'runs':>12} {'weak':>10}  {'weak outcomes are':<17} outcomes")
    table = []
    for test, order, lanes in chosen:
        table.append(measured(test, order, lanes, given.runs, given.seed, sys.stderr.isatty()))
        if not given.json:
            print(table[-1], flush=True)
    if given.json:
        print(json.dumps([found.as_dict() for found in table], indent=2))
    return int(any(found.forbidden for found in table))


if __name__ == "__main__":
    sys.exit(main())
