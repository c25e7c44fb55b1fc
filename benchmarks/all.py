"""All benchmarks of speed and memory, each in a process of its own, as one table.

python -m benchmarks.all [--json]
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.rows import Row, run

BENCHMARKS = (
    "import_time",
    "call_overhead",
    "first_use",
    "trace_cost",
    "layout",
    "memory",
    "cold_start",
    "kernel_growth",
    "kernels",
)


def rows_of(name: str) -> list[Row]:
    """The rows of one benchmark, which ends with status 1 when it missed a bar."""
    command = [sys.executable, "-m", f"benchmarks.{name}", "--json"]
    finished = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if not finished.stdout:
        raise SystemExit(f"benchmarks.{name} ended with status {finished.returncode} and no result")
    return [Row(**{**row, "what": f"{name}: {row['what'].strip()}"}) for row in json.loads(finished.stdout)]


def measure() -> Sequence[Row]:
    """One benchmark after the other: together they would disturb one another."""
    return [row for name in BENCHMARKS for row in rows_of(name)]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
