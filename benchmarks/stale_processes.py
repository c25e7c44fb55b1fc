"""Stale results across processes: generated programs in two starts that share a store, and a file edited in between.

    python -m benchmarks.stale_processes --programs 300 --seed 0

Run from the root of the repository.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.differential.stale.processes import judge


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        said, wrong = judge(Path(folder), arguments.seed * 1_000_000, arguments.programs)
    print("\n\n".join(wrong[:20]))
    print(f"{arguments.programs} programs, {said} starts with a result, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
