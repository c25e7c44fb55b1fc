"""Programs of `interpreted.py` under the checkers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import triptych as tt
from tests.checkers.interpreted import STEPS, THREADS, interpret
from tests.checkers.oracle import Step
from triptych.sanitizer.findings import Finding, collecting
from triptych.support.config import override

Run = Callable[[list[list[Step]]], list[Finding]]


def checked() -> Run:
    """What runs programs, each in a block of its own, and returns the findings."""
    with override(debug="races,init", cache=False):
        compiled = tt.compile(interpret, np.zeros((1, STEPS, 3), np.int32), np.zeros((1, THREADS), np.int32), 1)

    def run(programs: list[list[Step]]) -> list[Finding]:
        with override(debug="races,init"), collecting() as collection:
            compiled(_table(programs), np.zeros((len(programs), THREADS), np.int32), len(programs))
        return collection.findings

    return run


def _table(programs: list[list[Step]]) -> np.typing.NDArray[np.int32]:
    rows = np.zeros((len(programs), STEPS, 3), np.int32)
    for row, steps in zip(rows, programs, strict=True):
        row[: len(steps)] = steps
    return rows
