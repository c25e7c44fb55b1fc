"""What a warm call with three tensors costs: an empty kernel is launched on them.

    python -m benchmarks.tensor_call [--json]

The calls are measured in turns, many times over, and the smallest time of each counts: the machine's other work hits
all of them alike. torch is measured where it is installed.
"""

from __future__ import annotations

import importlib.util
import sys
import timeit
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import triptych as tt
from benchmarks.report import Row, run
from triptych import cute
from triptych.cute.runtime import from_dlpack

TURNS = 40
CALLS = 1000


@tt.kernel
def nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    pass


@tt.jit
def launch(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    nothing(a, b, c).launch(grid=1, block=32)


@tt.jit
def call(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    pass


def cases() -> dict[str, tuple[Callable[..., Any], Any, float | None]]:
    """What is called, with which tensor three times, and the microseconds promised."""
    array = np.zeros((64, 32), np.float32)
    static = from_dlpack(array)
    found: dict[str, tuple[Callable[..., Any], Any, float | None]] = {
        "NumPy, compiled launch": (tt.compile(launch, *[array] * 3), array, 8.0),
        "NumPy, @jit launch": (launch, array, 10.0),
        "NumPy, compiled function without a kernel": (tt.compile(call, *[array] * 3), array, None),
        "static from_dlpack, compiled launch": (tt.compile(launch, *[static] * 3), static, None),
        "static from_dlpack, @jit launch": (launch, static, None),
    }
    if importlib.util.find_spec("torch") is not None:
        tensor = importlib.import_module("torch").zeros(64, 32)
        found["torch, compiled launch"] = (tt.compile(launch, *[tensor] * 3), tensor, 5.0)
        found["torch, @jit launch"] = (launch, tensor, 10.0)
        found["torch, compiled function without a kernel"] = (tt.compile(call, *[tensor] * 3), tensor, None)
    return found


def measure() -> Sequence[Row]:
    """Microseconds of each call."""
    timers = {
        what: timeit.Timer("f(x, x, x)", globals={"f": function, "x": tensor})
        for what, (function, tensor, _) in cases().items()
    }
    bars = {what: bar for what, (_, _, bar) in cases().items()}
    best = dict.fromkeys(timers, float("inf"))
    for timer in timers.values():
        timer.timeit(10)
    for _ in range(TURNS):
        for what, timer in timers.items():
            best[what] = min(best[what], timer.timeit(CALLS) / CALLS * 1e6)
    return [Row(what, value, "us", bars[what]) for what, value in best.items()]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
