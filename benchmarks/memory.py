"""What compiling leaves behind: kilobytes of this process's memory for each function compiled and let go.

    python -m benchmarks.memory [--json]

Every function is new (another constant), so that nothing is found in a table; the first ones warm all caches up.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import triptych as tt
from benchmarks.rows import Row, run

WARM_UP = 50
COMPILES = 300


def use(constant: int) -> None:
    """Compile a function of its own, call it and let it go."""

    @tt.jit(opt_level=1)
    def function(n: tt.Int32) -> tt.Int32:
        total = n
        for i in range(n):
            if i > 3:
                total = total + constant
        return total

    assert function(10) == 10 + 6 * constant


def kilobytes() -> float:
    """Resident memory now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def measure() -> Sequence[Row]:
    """Growth over the second and the last third of the compilations: a leak shows in both alike."""
    for constant in range(WARM_UP):
        use(constant)
    at = [kilobytes()]
    for third in range(3):
        for constant in range(COMPILES // 3):
            use(WARM_UP + third * COMPILES // 3 + constant)
        at.append(kilobytes())
    each = COMPILES // 3
    return [
        Row(f"growth for each of {COMPILES} compilations", (at[3] - at[0]) / COMPILES, "KB"),
        Row("the same, last third only", (at[3] - at[2]) / each, "KB"),
        Row("resident at the end", at[3] / 1024, "MB"),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
