"""Differential fuzzing of Blackwell GEMMs: generated kernels with tensor memory against NumPy, to the bit.

    python -m benchmarks.blackwell_fuzz --programs 2000 --seed 0 --jobs 2
    python -m benchmarks.blackwell_fuzz --programs 500 --ptx
    python -m benchmarks.blackwell_fuzz --only 1234 --shrink

On the CPU, each program with asynchronous operations in an order of its own; with `--ptx` as PTX on the PTX simulator.
Run from the root of the repository.
"""

from __future__ import annotations

import sys

from benchmarks.fuzzing import Fuzzer, run
from tests.differential.blackwell.generator import generate
from tests.differential.blackwell.oracle import judge, judge_ptx

if __name__ == "__main__":
    as_ptx = "--ptx" in sys.argv
    sys.argv[1:] = [word for word in sys.argv[1:] if word != "--ptx"]
    sys.exit(run(__doc__, Fuzzer(generate, judge_ptx if as_ptx else judge)))
