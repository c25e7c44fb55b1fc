"""The matrix examples on the CPU: rates, and our time to NumPy's (BLAS in f32) and to OpenCL's on the same sizes.

    python -m benchmarks.matrix_kernels [--json]

One process runs all systems in turns with two threads each; a ratio is the median over the rounds. The peer runs the
product in registers of `kernel_programs/kernels.cl`. NumPy multiplies in f32 also where our operands are narrower.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.kernels import NUMPY, PEER, THREADS
from benchmarks.rows import Row, run


def rows_of(case: Mapping[str, Any]) -> Iterator[Row]:
    seconds = case["seconds"]
    others = [system for system in seconds if system == NUMPY or system.startswith("OpenCL")]
    for system, times in seconds.items():
        yield Row(f"{case['name']}: {system}", case["work"] / min(times), "GFLOP/s")
    for system, times in seconds.items():
        for other in others if system not in others else ():
            ratio = median(ours / theirs for ours, theirs in zip(times, seconds[other], strict=True))
            yield Row(f"{system}: time / {other}", ratio, "times")
    yield Row(f"{case['name']}: load average", case["load"], "processes")


def measure() -> Sequence[Row]:
    """All rounds run in a child, whose libraries read at their start how many threads they may have."""
    threads = {"OPENBLAS_NUM_THREADS": THREADS, "TRIPTYCH_THREADS": THREADS}
    environment = {**os.environ, **threads, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "benchmarks.matrix_rounds"]
    measured = json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)
    if not any(system.startswith(PEER) for case in measured for system in case["seconds"]):
        print("The peer is not installed (pyopencl, intel-opencl-rt, intel-cmplr-lib-rt): skipped.", file=sys.stderr)
    return [row for case in measured for row in rows_of(case)]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
