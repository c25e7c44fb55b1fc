"""Not speed: kernels one after the other in one process, under all checkers: each says what it says alone.

    python -m benchmarks.one_after_another [--pairs 2000] [--programs 150] [--seed 0] [--only TEXT]

The programs are the planted faults of `tests/checkers`, right and wrong, and the kernel examples. Each runs first in a
child of a process that has launched nothing; then a walk launches drawn pairs of them on one thread. All examples take
part, and so many of the others.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.checkers.block_pairs import BLOCKS
from tests.checkers.corpus import PAIRS
from tests.checkers.hopper_pairs import HOPPER
from tests.checkers.protocol_pairs import VIOLATIONS
from tests.checkers.remote_barrier_pairs import REMOTE
from tests.checkers.sequences import Program, alone, get_ready, of_examples, of_pair, walk
from tests.checkers.store_order_pairs import MORE_VIOLATIONS
from triptych.support.config import override


def programs(only: str, count: int, seed: int, folder: Path) -> list[Program]:
    pairs = (*PAIRS, *HOPPER, *REMOTE, *BLOCKS, *VIOLATIONS, *MORE_VIOLATIONS)
    written = [of_pair(pair, folder, wrong=which) for pair in pairs for which in (False, True) if only in pair.name]
    drawn = random.Random(seed).sample(written, min(count, len(written)))
    return [*drawn, *(each for each in of_examples() if only in each.name)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--programs", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", metavar="TEXT", help="programs whose name has this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, override(cache_dir=str(Path(folder) / "store")):
        chosen = programs(options.only, options.programs, options.seed, Path(folder))
        get_ready(Path(folder))
        known = [alone(each) for each in chosen]
        print(f"{len(chosen)} programs alone: {sum(map(bool, known))} with findings", flush=True)
        wrong = 0
        for difference in walk(chosen, options.pairs, options.seed, known):
            print(difference, flush=True)
            wrong += 1
        print(f"{options.pairs} pairs of {len(chosen)} programs: {wrong} say something else than alone")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
