"""Planted faults: how many the checkers find, at which lines, and what they say of the right programs.

    python -m benchmarks.planted_faults [--only TEXT]

Pairs written by hand are in `tests/checkers`; `benchmarks.removed_lines` removes lines of other kernels.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.checkers.block_pairs import BLOCKS
from tests.checkers.corpus import PAIRS
from tests.checkers.hopper_pairs import HOPPER
from tests.checkers.pairs import is_found, judged
from tests.checkers.protocol_pairs import VIOLATIONS
from tests.checkers.remote_barrier_pairs import REMOTE
from tests.checkers.store_order_pairs import MORE_VIOLATIONS
from tests.checkers.tensor_memory_pairs import TENSOR_MEMORY


def written(only: str, folder: Path) -> tuple[int, int, int]:
    """Pairs, wrong programs that were found at their lines, right programs with findings."""
    every = (*PAIRS, *HOPPER, *REMOTE, *BLOCKS, *VIOLATIONS, *MORE_VIOLATIONS, *TENSOR_MEMORY)
    pairs = [pair for pair in every if only in pair.name]
    found = alarms = 0
    for pair in pairs:
        wrong, right = (judged(pair, folder, wrong=which) for which in (True, False))
        found += is_found(pair, wrong)
        alarms += bool(right.findings)
        if not is_found(pair, wrong) or right.findings:
            print(f"{pair.name}: wrong {wrong.findings or 'not found'}, right {right.findings or 'clean'}", flush=True)
    return len(pairs), found, alarms


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="pairs whose name has this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        count, found, alarms = written(options.only, Path(folder))
        print(f"{count} pairs: {found} found at their lines, {alarms} right programs with findings")
    return 0 if found == count and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
