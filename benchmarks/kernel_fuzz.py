"""Differential fuzzing of kernels: generated kernels on which a slow reference machine, -O0 and -O3 must agree.

    python -m benchmarks.kernel_fuzz --programs 1000 --seed 0 --jobs 2
    python -m benchmarks.kernel_fuzz --only 1234 --shrink

Run from the root of the repository.
"""

from __future__ import annotations

import sys

from benchmarks.fuzzing import Fuzzer, run
from tests.differential.kernels.generator import generate
from tests.differential.kernels.oracle import judge

if __name__ == "__main__":
    sys.exit(run(__doc__, Fuzzer(generate, judge)))
