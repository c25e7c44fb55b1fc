"""Programs of the store in the large: generated programs with effects and unordered containers, in six processes each.

    python -m benchmarks.store_laws --programs 2000 --seed 0

Each is run with two hash seeds, in a process that fills a store, in one that finds it filled by the other seed, and
without a store; what it gives and what it leaves behind is compared with Python. Run from the root of the repository.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.laws.store.judge import judge

BATCH = 50


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for start in range(0, arguments.programs, BATCH):
        with tempfile.TemporaryDirectory() as folder:
            seed = arguments.seed * 1_000_000 + start
            found, failures = judge(Path(folder), seed, min(BATCH, arguments.programs - start))
        counts += found
        wrong += failures
        print(f"{start + BATCH}: {len(wrong)} differences", flush=True)
    print("\n\n".join(wrong[:20]))
    print(f"{arguments.programs} programs, {sum(counts.values())} runs, {len(wrong)} differences; {dict(counts)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
