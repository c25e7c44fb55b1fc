"""What arguments cost: warm calls with tensors, keywords, defaults and tuples, and `from_dlpack` with its marks.

    python -m benchmarks.tensor_call [--json]

The calls are measured in turns, many times over, in processor time, and the smallest of each counts: what else the
machine does hits all of them alike. torch is measured where it is installed, also as `triptych run` has it.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import timeit
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import triptych as tt
from benchmarks.rows import Row, run
from triptych import cute
from triptych.compat import torch_on_cpu
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


@tt.jit
def add(a: tt.Int32, b: tt.Int32, c: tt.Int32 = 3) -> tt.Int32:  # type: ignore[assignment]  # as users write defaults
    return a + b + c


@tt.jit
def add_three(numbers: tuple[tt.Int32, tt.Int32, tt.Int32]) -> tt.Int32:
    return numbers[0] + numbers[1] + numbers[2]


class Case(NamedTuple):
    """A statement, the names in it, and the microseconds promised."""

    statement: str
    names: dict[str, Any]
    bar: float | None = None


def calls(kind: str, tensor: Any, compiled: float, jitted: float) -> dict[str, Case]:
    """Calls with three tensors; an empty kernel is launched on them."""
    three, statement = [tensor] * 3, "f(x, x, x)"
    return {
        f"{kind}, compiled launch": Case(statement, {"f": tt.compile(launch, *three), "x": tensor}, compiled),
        f"{kind}, @jit launch": Case(statement, {"f": launch, "x": tensor}, jitted),
        f"{kind}, compiled function without a kernel": Case(statement, {"f": tt.compile(call, *three), "x": tensor}),
    }


def descriptions(kind: str, tensor: Any, plain: float) -> dict[str, Case]:
    """A tensor as an argument of a static layout, and with one that is marked."""
    names = {"from_dlpack": from_dlpack, "x": tensor}
    one = "from_dlpack(x, assumed_align=16).mark_layout_dynamic(leading_dim=1)"
    two = f"{one}.mark_compact_shape_dynamic(mode=1, stride_order=(0, 1), divisibility=8)"
    return {
        f"{kind}, from_dlpack": Case("from_dlpack(x)", names, plain),
        f"{kind}, from_dlpack and a mark": Case(one, names, 10.0),
        f"{kind}, from_dlpack and two marks": Case(two, names, 10.0),
    }


def numbers() -> dict[str, Case]:
    """The same three numbers in every way that a call can give them."""
    return {
        "@jit, three numbers": Case("f(1, 2, 3)", {"f": add}),
        "@jit, the last by keyword": Case("f(1, 2, c=3)", {"f": add}),
        "@jit, the last by default": Case("f(1, 2)", {"f": add}),
        "@jit, all by keyword": Case("f(a=1, b=2, c=3)", {"f": add}),
        "@jit, a tuple of three": Case("f(x)", {"f": add_three, "x": (1, 2, 3)}),
    }


def cases() -> dict[str, Case]:
    array = np.zeros((64, 32), np.float32)
    static = from_dlpack(array)
    found = {
        **calls("NumPy", array, 8.0, 10.0),
        "static from_dlpack, compiled launch": Case(
            "f(x, x, x)", {"f": tt.compile(launch, *[static] * 3), "x": static}
        ),
        "static from_dlpack, @jit launch": Case("f(x, x, x)", {"f": launch, "x": static}),
        **numbers(),
        **descriptions("NumPy", array, 5.0),
    }
    if importlib.util.find_spec("torch") is not None:
        tensor = importlib.import_module("torch").zeros(64, 32)
        found |= calls("torch", tensor, 5.0, 10.0) | descriptions("torch", tensor, 8.0)
    return found


def compat_cases() -> dict[str, Case]:
    """What programs for a GPU have: torch with its function mode."""
    tensor = importlib.import_module("torch").zeros(64, 32, device="cuda")
    return descriptions("torch as under `triptych run`", tensor, 8.0)


def measured(cases: dict[str, Case]) -> Sequence[Row]:
    """Microseconds of each case."""
    timers = {
        what: timeit.Timer(case.statement, timer=time.process_time, globals=case.names) for what, case in cases.items()
    }
    best = dict.fromkeys(timers, float("inf"))
    for timer in timers.values():
        timer.timeit(10)
    for _ in range(TURNS):
        for what, timer in timers.items():
            best[what] = min(best[what], timer.timeit(CALLS) / CALLS * 1e6)
    return [Row(what, value, "us", cases[what].bar) for what, value in best.items()]


def measure() -> Sequence[Row]:
    """Microseconds of each call."""
    rows = list(measured(cases()))
    if "torch" in sys.modules:
        undo = torch_on_cpu.install()
        try:
            rows += measured(compat_cases())
        finally:
            undo()
    return rows


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
