"""Litmus tests between processes that stand for GPUs: which outcomes the orders of system scope leave, over many runs.

    python -m benchmarks.rank_litmus --runs 1000000
    python -m benchmarks.rank_litmus --tests "store buffering" --orders sc --json

Run from the root of the repository. Each thread of a test is a process; the table is that of `benchmarks.litmus`, and
the exit status is 1 when an outcome was seen that its order forbids.
"""

from __future__ import annotations

import argparse
import json
import sys

from benchmarks.litmus import Found
from tests.support.litmus import INSTANCES, ORDERS, TESTS
from tests.support.rank_litmus import outcomes_across_ranks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000, help="runs of each test under each order")
    parser.add_argument("--tests", nargs="*", default=[test.name for test in TESTS], help="which tests")
    parser.add_argument("--orders", nargs="*", default=list(ORDERS), help="which orders")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    given = parser.parse_args()
    named = {test.name: test for test in TESTS}
    seen = outcomes_across_ranks(given.tests, given.orders, -(-given.runs // INSTANCES))
    table = [Found(named[name], order, 1, outcomes) for (name, order), outcomes in seen.items()]
    if given.json:
        print(json.dumps([found.as_dict() for found in table], indent=2))
    else:
        print(f"{'test':<24} {'order':<16} {'lanes':>5} {'runs':>12} {'weak':>10}  {'weak outcomes are':<17} outcomes")
        print(*table, sep="\n")
    return int(any(found.forbidden for found in table))


if __name__ == "__main__":
    sys.exit(main())
