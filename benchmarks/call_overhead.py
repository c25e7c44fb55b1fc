"""What a warm call costs, as a multiple of the bare tvm-ffi call of the same symbol.

    python -m benchmarks.call_overhead [--json]

The calls are measured in turns, many times over, and the smallest time of each counts: the machine's other work hits
all of them alike. The called function has no loop, so every way of calling it keeps the interpreter lock.
"""

from __future__ import annotations

import sys
import timeit
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import triptych as tt
from benchmarks.rows import Row, run
from triptych.ir import bindings
from triptych.ir.llvm.loader import load_object
from triptych.targets.cpu.loader import python_symbols

TURNS = 60
CALLS = 2000


@dataclass
class Point:
    x: float
    y: float


@tt.jit
def one(n: tt.Int32, x: tt.Float32) -> Any:
    return x * 2.0 + n


@tt.jit
def two(n: tt.Int32, x: tt.Float32) -> Any:
    return n, x


@tt.jit
def scaled(n: tt.Int32, factor: tt.Constexpr[int]) -> Any:
    return n * factor


@tt.jit
def norm(p: Point) -> Any:
    return p.x * p.x + p.y * p.y


def plain(n: int, x: float) -> float:
    return x * 2.0 + n


CASES: dict[str, tuple[str, float | None]] = {
    "bare tvm-ffi call": ("bare(3, 2.5)", None),
    "compiled(int, float)": ("compiled(3, 2.5)", 1.5),
    "@jit call (int, float)": ("one(3, 2.5)", 4.0),
    "@jit call with a Constexpr argument": ("scaled(3, 7)", None),
    "@jit call with two results": ("two(3, 2.5)", None),
    "@jit call with a dataclass argument": ("norm(point)", None),
    "the function in plain Python": ("plain(3, 2.5)", None),
}


def bare_function(compiled: Any) -> Any:
    """The symbol of a compiled function, called through tvm-ffi and nothing else."""
    artifact = compiled._loaded.compiled
    code = load_object(artifact.artifact, artifact.lowered.entry, python_symbols())
    function = bindings.tvm_ffi().Function.__from_extern_c__(code.address, keep_alive_object=code)
    function.release_gil = False
    return function


def nanoseconds() -> dict[str, float]:
    """The smallest time of each call."""
    compiled = tt.compile(one, 3, 2.5)
    point = Point(1.0, 2.0)
    names = {"bare": bare_function(compiled), "compiled": compiled, "one": one, "two": two}
    names |= {"scaled": scaled, "norm": norm, "point": point, "plain": plain}
    timers = {what: timeit.Timer(statement, globals=names) for what, (statement, _) in CASES.items()}
    best = dict.fromkeys(CASES, float("inf"))
    for timer in timers.values():
        timer.timeit(10)
    for _ in range(TURNS):
        for what, timer in timers.items():
            calls = CALLS if best[what] < 10_000 else CALLS // 40
            best[what] = min(best[what], timer.timeit(calls) / calls * 1e9)
    return best


def measure() -> Sequence[Row]:
    """Nanoseconds of the bare call; everything else as a ratio to it."""
    best = nanoseconds()
    bare, *others = CASES
    rows = [Row(bare, best[bare], "ns")]
    return rows + [Row(what, best[what] / best[bare], "x bare", CASES[what][1]) for what in others]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
