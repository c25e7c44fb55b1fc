"""Generated kernels under the checkers: all are free of races and read nothing unset, so that every finding is false.

    python -m benchmarks.false_alarms --programs 10000 --seed 0 --jobs 2

Run from the root of the repository. Blocks run in a shuffled order, with the checkers `bounds`, `races` and `init`.
"""

from __future__ import annotations

import sys

from benchmarks.fuzzing import Fuzzer, run
from tests.differential.judge import Failure
from tests.differential.kernels.generator import generate
from tests.differential.kernels.oracle import Failed, run_checked
from tests.differential.kernels.program import KernelProgram


def judge(program: KernelProgram) -> Failure | None:
    """A failure is whatever the checked program raised."""
    for found in run_checked(program):
        if isinstance(found, Failed):
            return Failure(f"{found.what} {found.kind}", f"{found.message}\n{program}")
    return None


if __name__ == "__main__":
    sys.exit(run(__doc__, Fuzzer(generate, judge)))
