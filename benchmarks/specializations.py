"""What one function costs that is called with ever new Constexpr values: memory and mappings must stay flat.

    python -m benchmarks.specializations [--values 20000] [--json]

Compiled versions that were not used for the longest leave, and their machine code is unmapped. Until the tables are
full, memory grows by what one version takes; after that, by nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import triptych as tt
from benchmarks.memory import kilobytes
from benchmarks.rows import Row, table
from triptych.support.config import config

STEPS = 20
WARM_UP = 50


@tt.jit(opt_level=0)
def increased(n: tt.Int32, step: tt.Constexpr[int]) -> Any:
    """The function of the measurement: as little as there can be, so that what is kept around it shows."""
    return n + step


def mappings() -> int:
    """Mappings of this process; the system allows about 65,000."""
    return Path("/proc/self/maps").read_text().count("\n")


def measure(values: int, warm_up: int = WARM_UP) -> list[Row]:
    """Growth while the tables fill, and after they are full."""
    bound = config().specializations
    for step in range(-warm_up, 0):
        increased(1, step)
    seen = [(0, kilobytes(), mappings())]
    for step in range(values):
        assert increased(1, step) == 1 + step
        if (step + 1) % max(values // STEPS, 1) == 0:
            seen.append((step + 1, kilobytes(), mappings()))
            print(f"{seen[-1][0]:7,} values  {seen[-1][1]:9,.0f} KB  {seen[-1][2]:6,} mappings", file=sys.stderr)
    full = [(count, memory, mapped) for count, memory, mapped in seen if count >= min(2 * bound, values // 2)]
    (first, memory_then, mapped_then), (last, memory_now, mapped_now) = full[0], full[-1]
    filled, memory_filled, _ = [sample for sample in seen if sample[0] <= bound][-1]
    filling = (memory_filled - seen[0][1]) / max(filled, 1)
    return [
        Row("Constexpr values", values, ""),
        Row("compiled versions kept", bound, ""),
        Row("memory of one version, while the tables fill", filling, "KB"),
        Row("growth for each value after that", (memory_now - memory_then) / max(last - first, 1), "KB", 1.0),
        Row("mappings for each value after that", (mapped_now - mapped_then) / max(last - first, 1), "", 0.01),
        Row("resident at the end", memory_now / 1024, "MB"),
    ]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=20_000, help="how many Constexpr values")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    arguments = parser.parse_args()
    rows = measure(arguments.values)
    print(json.dumps([asdict(row) for row in rows], indent=2) if arguments.json else table(rows))
    return int(any(row.verdict == "over" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
