"""Stale results in the large: generated programs of which one thing is changed after warm calls.

    python -m benchmarks.stale_fuzz --programs 3000 --seed 0 --jobs 2
    python -m benchmarks.stale_fuzz --only 1234 --shrink

Run from the root of the repository.
"""

from __future__ import annotations

import sys

from benchmarks.fuzzing import Fuzzer, run
from tests.differential.stale.generator import generate
from tests.differential.stale.judge import judge

if __name__ == "__main__":
    sys.exit(run(__doc__, Fuzzer(generate, judge)))
