"""Kernels as data under the checkers, beside an oracle that keeps every access of every thread.

    python -m benchmarks.order_laws --ordered 10000 --removed 1000 --seed 0

Run from the root of the repository. Ordered programs race nowhere: a finding is a false alarm. Of those that
lack one order the oracle says whether they race, and the checkers must say the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from random import Random

from tests.checkers.checked_programs import Run, checked
from tests.checkers.oracle import program, races, without_an_order
from triptych.sanitizer.finding_errors import error_of

TOGETHER = 500
"""Programs of one launch."""


def alarms(run: Run, source: Random, count: int) -> int:
    """How many ordered programs have a finding, of those that are examples of one."""
    wrong: set[int] = set()
    started = time.monotonic()
    for first in range(0, count, TOGETHER):
        programs = [program(source) for _ in range(min(TOGETHER, count - first))]
        for finding in run(programs):
            wrong |= {first + example.block[0] for example in finding.examples}
            print(f"{error_of(finding).text()}\n{programs[finding.examples[0].block[0]]}")
        print(f"{first + len(programs)} ordered, {len(wrong)} alarms, {time.monotonic() - started:.0f} s", flush=True)
    return len(wrong)


def disagreements(run: Run, source: Random, count: int) -> int:
    """Programs that lack an order, of which the checkers and the oracle say different things."""
    racy = missed = false = 0
    for _ in range(count):
        steps = without_an_order(source)
        is_wrong, found = races(steps), bool(run([steps]))
        racy, missed, false = racy + is_wrong, missed + (is_wrong and not found), false + (found and not is_wrong)
        if found != is_wrong:
            print(f"{'missed' if is_wrong else 'false'}: {steps}", flush=True)
    print(f"{count} without an order, {racy} of them race: {missed} missed, {false} alarms", flush=True)
    return missed + false


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ordered", type=int, default=10_000, help="programs that do not race")
    parser.add_argument("--removed", type=int, default=1000, help="programs that lack one order")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    run, source = checked(), Random(options.seed)
    return 1 if alarms(run, source, options.ordered) + disagreements(run, source, options.removed) else 0


if __name__ == "__main__":
    sys.exit(main())
