"""Checks of the language that fail in one thread of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

import triptych as tt
from tests.integration.faults.fault import Fault
from triptych import cute
from triptych.diagnostics.runtime_errors import (
    AssertionFailedError,
    DivisionByZeroError,
    IndexOutOfRangeError,
    NegativeShiftError,
    ZeroStepError,
)


@tt.kernel
def asserts(a: cute.Tensor, bad: tt.Int32) -> None:
    x, y, _ = cute.arch.thread_idx()
    _, row, _ = cute.arch.block_idx()
    i = x + 8 * y + 64 * row
    assert i != bad, "not this one"
    a[i] = i


@tt.kernel
def divides(a: cute.Tensor, bad: tt.Int32) -> None:
    x, y, _ = cute.arch.thread_idx()
    _, row, _ = cute.arch.block_idx()
    i = x + 8 * y + 64 * row
    a[i] = 100 // (i - bad)


@tt.kernel
def takes_a_remainder(a: cute.Tensor, bad: tt.Int32) -> None:
    x, y, _ = cute.arch.thread_idx()
    _, row, _ = cute.arch.block_idx()
    i = x + 8 * y + 64 * row
    a[i] = i % (i - bad)


@tt.kernel
def picks(a: cute.Tensor, bad: tt.Int32) -> None:
    x, y, _ = cute.arch.thread_idx()
    _, row, _ = cute.arch.block_idx()
    i = x + 8 * y + 64 * row
    a[i] = [10, 20, 30][3 if i == bad else 0]


@tt.kernel
def shifts(a: cute.Tensor, bad: tt.Int32) -> None:
    x, y, _ = cute.arch.thread_idx()
    _, row, _ = cute.arch.block_idx()
    i = x + 8 * y + 64 * row
    a[i] = 1 << (-1 if i == bad else 1)


@tt.kernel
def steps(a: cute.Tensor, bad: tt.Int32) -> None:
    x, y, _ = cute.arch.thread_idx()
    _, row, _ = cute.arch.block_idx()
    i = x + 8 * y + 64 * row
    for j in range(0, 4, i - bad):
        a[i] = j


@tt.kernel
def asserts_while_waiting(a: cute.Tensor, bad: tt.Int32) -> None:
    x, y, _ = cute.arch.thread_idx()
    _, row, _ = cute.arch.block_idx()
    i = x + 8 * y + 64 * row
    if cute.arch.warp_idx() == 0:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)
    else:
        assert i != bad, "while others wait"
        cute.arch.barrier(barrier_id=1, number_of_threads=64)
    a[i] = i


@tt.jit
def launch(kernel: tt.Constexpr[Any], a: Any, bad: tt.Int32) -> None:
    kernel(a, bad).launch(grid=(1, 4, 1), block=(8, 8))


def fault(kernel: Any, error: Any, line: str) -> Fault:
    def call() -> None:
        launch(kernel, np.zeros(256, np.int32), 172)

    call.__name__ = kernel.__name__
    return Fault(call, error, line, (0, 2, 0), (4, 5, 0))


FAULTS = [
    fault(asserts, AssertionFailedError, '"not this one"'),
    fault(divides, DivisionByZeroError, "100 // (i - bad)"),
    fault(takes_a_remainder, DivisionByZeroError, "i % (i - bad)"),
    fault(picks, IndexOutOfRangeError, "[10, 20, 30]"),
    fault(shifts, NegativeShiftError, "1 << ("),
    fault(steps, ZeroStepError, "range(0, 4, i - bad)"),
    fault(asserts_while_waiting, AssertionFailedError, '"while others wait"'),
]
