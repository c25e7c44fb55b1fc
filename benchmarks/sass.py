"""Static quality of code for NVIDIA GPUs: instructions without NOPs, registers and spills of every kernel example.

    python -m benchmarks.sass                  for sm_80, with the best-known peer's figures where there are any
    python -m benchmarks.sass --all            for every architecture: does the assembler accept it, with what?
    python -m benchmarks.sass sm_90a           for another architecture
    python -m benchmarks.sass --json           as JSON

No GPU is needed. A figure above the peer's makes the run fail.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO

import triptych as tt
from tests.unit.targets.nvptx.programs import EXAMPLES
from triptych.targets.nvptx.architectures import ARCHITECTURES
from triptych.targets.nvptx.instruction_counts import instruction_counts

PEER = {
    "vector add by vectors": (64, 22),
    "relu": (57, 18),
    "vector add by layout": (332, 71),
    "rms norm": (627, 56),
}
"""Instructions and registers for sm_80 that the best-known peer needs for a program of that name, with the same
assembler. The programs do the same work but are not written alike: read the figures as an order of size."""


@dataclass(frozen=True, slots=True)
class Row:
    """One program for one architecture."""

    program: str
    architecture: str
    instructions: int
    """Of all its kernels and of what they call, without NOPs."""
    registers: int
    """The most that a thread needs."""
    spilled: int
    """Bytes that go to local memory and back."""
    accesses: str
    """Global loads and stores, by width in bits."""
    milliseconds: float
    """From Python to the cubin."""
    peer: tuple[int, int] | None = None

    @property
    def is_over(self) -> bool:
        return self.spilled > 0 or (self.peer is not None and self.instructions > self.peer[0])


def measure(architecture: str) -> Iterator[Row]:
    """Compile every example; the peer's figures are for one architecture only."""
    for name, make in EXAMPLES.items():
        function, arguments = make()
        with redirect_stdout(StringIO()):  # an example that prints while it is traced
            started = time.perf_counter()
            compiled = tt.compile(function, *arguments, target=f"nvptx:{architecture}")
            milliseconds = (time.perf_counter() - started) * 1e3
        counts = sum(instruction_counts(compiled.__sass__).values(), Counter())
        used = compiled.resources.values()
        yield Row(
            name,
            architecture,
            counts.total(),
            max(kernel.registers for kernel in used),
            sum(kernel.spill_stores + kernel.spill_loads for kernel in used),
            _accesses(counts),
            milliseconds,
            PEER.get(name) if architecture == "sm_80" else None,
        )


def _accesses(counts: Counter[str]) -> str:
    widths: Counter[str] = Counter()
    for name, number in counts.items():
        operation, *modifiers = name.split(".")
        if operation in ("LDG", "STG"):
            width = next((word.lstrip("US") for word in modifiers if word.lstrip("US").isdigit()), "32")
            widths[f"{operation}.{width}"] += number
    return ", ".join(f"{number} {name}" for name, number in sorted(widths.items()))


def table(rows: Sequence[Row]) -> str:
    heads = ("program", "arch", "instructions", "peer", "registers", "peer", "spilled", "ms", "global accesses")
    lines = [
        (
            row.program,
            row.architecture,
            str(row.instructions),
            str(row.peer[0]) if row.peer else "",
            str(row.registers),
            str(row.peer[1]) if row.peer else "",
            str(row.spilled),
            f"{row.milliseconds:.0f}",
            row.accesses,
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in (heads, *lines)) for i in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (heads, *lines)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", default=["sm_80"], help="as sm_90a")
    parser.add_argument("--all", action="store_true", help="every architecture")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args()
    chosen = list(ARCHITECTURES) if options.all else options.architectures
    rows = [row for architecture in chosen for row in measure(architecture)]
    print(json.dumps([asdict(row) for row in rows], indent=2) if options.json else table(rows))
    return int(any(row.is_over for row in rows))


if __name__ == "__main__":
    sys.exit(main())
