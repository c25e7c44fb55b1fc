"""Differential fuzzing in the large: generated programs on which CPython, PythonHooks, -O0 and -O3 must agree.

    python -m benchmarks.fuzz --programs 10000 --seed 0 --jobs 2
    python -m benchmarks.fuzz --only 1234 --shrink

Run from the root of the repository.
"""

from __future__ import annotations

import sys

from benchmarks.fuzzing import Fuzzer, run
from tests.differential.generator import generate
from tests.differential.judge import judge

if __name__ == "__main__":
    sys.exit(run(__doc__, Fuzzer(generate, judge)))
