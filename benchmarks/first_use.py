"""First use in a fresh process: import, trace, compile and run a 20-line function.

    python -m benchmarks.first_use [--json]

The wall time goes from starting Python to holding the result. The phases are CPU milliseconds of that process; the
worker that runs LLVM is another one and works beside it, so a machine with two idle cores shows the wall time of the
calling process alone, and a busy one shows more.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.rows import Row, installed_environment, run

REPETITIONS = 15
PROGRAM = Path(__file__).parent / "programs" / "first_use.py"


def once(environment: Mapping[str, str]) -> dict[str, float]:
    """One run: wall milliseconds to the result and to the end of the process, and the phases that it reports."""
    started = time.time()
    output = subprocess.run([sys.executable, str(PROGRAM)], env=environment, capture_output=True, check=True).stdout
    ended = time.time()
    facts: dict[str, float] = json.loads(output)
    return {"wall": (facts.pop("done") - started) * 1e3, "exit": (ended - started) * 1e3, **facts}


def measure() -> Sequence[Row]:
    """The smallest wall time of several runs, and the phases of the run with the least CPU time."""
    with installed_environment() as environment:
        once(environment)
        runs = [once(environment) for _ in range(REPETITIONS)]
    best = min(runs, key=lambda each: each["all"])
    phases = [Row(f"  of it {what}", ms, "ms CPU") for what, ms in best.items() if what not in ("wall", "exit", "all")]
    return [
        Row("fresh process to result, best", min(each["wall"] for each in runs), "ms wall", 500.0),
        Row("fresh process to result, median", median(each["wall"] for each in runs), "ms wall"),
        Row("fresh process to its end, best", min(each["exit"] for each in runs), "ms wall"),
        Row("the calling process", best["all"], "ms CPU"),
        *phases,
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
