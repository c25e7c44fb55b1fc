"""Differential fuzzing of producers and consumers: generated kernels of rings, roles and clusters against a model.

    python -m benchmarks.pipeline_fuzz --programs 2000 --seed 0 --jobs 2
    python -m benchmarks.pipeline_fuzz --only 1234 --shrink
    python -m benchmarks.pipeline_fuzz --programs 50 --ptx

On the CPU; with `--ptx` also as PTX on the PTX simulator. Run from the root of the repository.
"""

from __future__ import annotations

import sys

from benchmarks.fuzzing import Fuzzer, run
from tests.differential.pipelines.generator import generate
from tests.differential.pipelines.oracle import judge, judge_both

if __name__ == "__main__":
    everywhere = "--ptx" in sys.argv
    sys.argv[1:] = [word for word in sys.argv[1:] if word != "--ptx"]
    sys.exit(run(__doc__, Fuzzer(generate, judge_both if everywhere else judge)))
