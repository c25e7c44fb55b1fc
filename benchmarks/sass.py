"""Static quality of code for NVIDIA GPUs: instructions without NOPs, registers and spills of kernels.

    python -m benchmarks.sass                  for sm_80, with the best-known peer's figures where there are any
    python -m benchmarks.sass --ports          only the kernels that the peer has, too
    python -m benchmarks.sass --loops          only the main loops of kernels that multiply matrices
    python -m benchmarks.sass --all            for every architecture: does the assembler accept it, with what?
    python -m benchmarks.sass sm_90a           for another architecture
    python -m benchmarks.sass --json           as JSON

No GPU is needed. More instructions than the peer, or spilled registers, make the run fail. The times are from Python to
the cubin in a process that has compiled before; `bar` is what they should stay below.

Ports (benchmarks/sass_programs) do in each thread what the peer's public kernel of that kind does: the same tile, as
many elements. Vector add is the vectorised kernel of its tutorial, add by layout and RMSNorm follow public sources, and
ReLU is the tutorial's first kernel with another operation and a test of the size. Extents and strides are those of the
call, 32 and 64 bits: with fixed ones nothing is left to divide, and vector add has 22 instructions; the peer's 64 must
be with unknown ones. RMSNorm has the fixed columns and the block reduction of its source.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from typing import Any

import triptych as tt
from benchmarks import main_loops
from benchmarks.sass_programs import elementwise, normalisation
from benchmarks.sass_programs.arguments import PORTS
from tests.unit.targets.nvptx.programs import EXAMPLES, MATRICES, Program, example
from triptych.objectstage.device_errors import ArchitectureError
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.report.machine_code import instruction_counts


@dataclass(frozen=True, slots=True)
class Peer:
    """Figures for sm_80 of the best-known peer's kernel, and the milliseconds that compiling may take here."""

    instructions: int
    registers: int
    bar: float


PEERS = {
    "port: vector add": Peer(64, 22, 100),
    "port: relu": Peer(57, 18, 100),
    "port: add by layout": Peer(332, 71, 150),
    "port: rms norm": Peer(627, 56, 200),
}
WARM_UP = "hello"
REPETITIONS = 5


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
    peer: Peer | None = None

    @property
    def is_over(self) -> bool:
        return self.spilled > 0 or (self.peer is not None and self.instructions > self.peer.instructions)

    @property
    def cells(self) -> tuple[str, ...]:
        peer = self.peer
        theirs = (str(peer.instructions), f"{self.instructions / peer.instructions:.2f}") if peer else ("", "")
        return (
            self.program,
            self.architecture,
            str(self.instructions),
            *theirs,
            str(self.registers),
            str(peer.registers) if peer else "",
            str(self.spilled),
            f"{self.milliseconds:.0f}",
            f"{peer.bar:.0f}" if peer else "",
            self.accesses,
        )


def measure(architecture: str, programs: Mapping[str, Callable[[], Program]]) -> Iterator[Row]:
    """Compile every program; the peer's figures are for one architecture only."""
    for name, make in programs.items():
        compiled, milliseconds = _best(make, architecture) if name in PORTS else _compiled(make, architecture)
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
            PEERS.get(name) if architecture == "sm_80" else None,
        )


def _best(make: Callable[[], Program], architecture: str) -> tuple[Any, float]:
    """The shortest of several times: the machine may be busy. Functions that are loaded anew are compiled anew."""
    runs = []
    for _ in range(REPETITIONS):
        for module in (elementwise, normalisation, *map(example, main_loops.EXAMPLES)):
            importlib.reload(module)
        runs.append(_compiled(make, architecture))
    return min(runs, key=lambda run: run[1])


def _compiled(make: Callable[[], Program], architecture: str) -> tuple[Any, float]:
    function, arguments = make()
    with redirect_stdout(StringIO()):  # an example that prints while it is traced
        started = time.perf_counter()
        compiled = tt.compile(function, *arguments, target=f"nvptx:{architecture}")
        return compiled, (time.perf_counter() - started) * 1e3


def _accesses(counts: Counter[str]) -> str:
    widths: Counter[str] = Counter()
    for name, number in counts.items():
        operation, *modifiers = name.split(".")
        if operation in ("LDG", "STG"):
            width = next((word.lstrip("US") for word in modifiers if word.lstrip("US").isdigit()), "32")
            widths[f"{operation}.{width}"] += number
    return ", ".join(f"{number} {name}" for name, number in sorted(widths.items()))


HEADS = ("program", "arch", "instructions", "peer", "ratio", "registers", "peer", "spilled", "ms", "bar", "accesses")


def measure_loops(architecture: str) -> Iterator[main_loops.LoopRow]:
    """Compile every product of matrices, but those whose instructions the architecture lacks."""
    for name, make in MATRICES.items():
        try:
            compiled, milliseconds = _best(make, architecture)
        except ArchitectureError:
            continue
        yield from main_loops.loop_rows(name, architecture, compiled, milliseconds)


def table(heads: Sequence[str], rows: Sequence[Row] | Sequence[main_loops.LoopRow]) -> str:
    lines = [heads, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", default=["sm_80"], help="as sm_90a")
    parser.add_argument("--all", action="store_true", help="every architecture")
    parser.add_argument("--ports", action="store_true", help="only the kernels that the peer has, too")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--loops", action="store_true", help="only main loops of kernels that multiply matrices")
    options = parser.parse_args()
    chosen = list(ARCHITECTURES) if options.all else options.architectures
    programs = PORTS if options.ports else {**PORTS, **EXAMPLES}
    for make in (EXAMPLES[WARM_UP], *PORTS.values()):  # for another architecture: loads what compiling needs
        _compiled(make, "sm_86")
    loops = [row for architecture in chosen if not options.ports for row in measure_loops(architecture)]
    rows = [row for architecture in chosen if not options.loops for row in measure(architecture, programs)]
    everything: list[Row | main_loops.LoopRow] = [*rows, *loops]
    if options.json:
        print(json.dumps([asdict(row) for row in everything], indent=2))
    else:
        tables = (HEADS, rows), (main_loops.HEADS, loops)
        print("\n\n".join(table(heads, found) for heads, found in tables if found))
    return int(any(row.is_over for row in everything))


if __name__ == "__main__":
    sys.exit(main())
