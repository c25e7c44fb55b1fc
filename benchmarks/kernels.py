"""Kernels on the CPU against NumPy and against the same kernels in OpenCL C, with two threads each.

    python -m benchmarks.kernels [--json]

One process runs all systems in turns. A ratio is that of times: the median over the rounds of our time to the time of
the other one in the same round, so that the machine's other work hits both. Rates are those of the fastest round.
The peer is measured where it is installed (see `opencl_peer`): with 32-bit indices, as our kernels have them, and with
64-bit ones, which its compiler knows not to wrap around.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.rows import Row, run

OURS, NUMPY, PEER = "Triptych", "NumPy", "OpenCL, int indices"
THREADS = "2"
BARS = {
    ("vector add", NUMPY): 1.1,
    ("saxpy", NUMPY): 1.1,
    ("block reduction", PEER): 1 / 2,
    ("shuffle reduction", PEER): 1 / 2,
    ("softmax", PEER): 1.0,
    ("RMSNorm", PEER): 1.0,
    ("tiled GEMM", PEER): 1 / 1.5,
    ("tiled GEMM", NUMPY): 1 / 0.4,
    ("register-tiled GEMM", PEER): 1 / 2,
    ("register-tiled GEMM", NUMPY): 1 / 0.7,
}
"""Our time to theirs. NumPy multiplies matrices by its BLAS."""


def rows_of(case: Mapping[str, Any]) -> Iterator[Row]:
    """The rate of each system, then our time to each other one's."""
    name, seconds = case["name"], case["seconds"]
    for system, times in seconds.items():
        yield Row(f"{name}: {system}", case["work"] / min(times), case["unit"])
    for system, times in seconds.items():
        if system != OURS:
            ratio = median(ours / theirs for ours, theirs in zip(seconds[OURS], times, strict=True))
            yield Row(f"{name}: time / {system}", ratio, "times", BARS.get((name, system)))
    yield Row(f"{name}: load average", case["load"], "processes")


def measure() -> Sequence[Row]:
    """All rounds run in a child, whose libraries read at their start how many threads they may have."""
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": THREADS,
        "TRIPTYCH_THREADS": THREADS,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-m", "benchmarks.kernel_rounds"]
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    measured = json.loads(finished.stdout)
    if not any(PEER in case["seconds"] for case in measured):
        print("The peer is not installed (pyopencl, intel-opencl-rt, intel-cmplr-lib-rt): skipped.", file=sys.stderr)
    return [row for case in measured for row in rows_of(case)]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
