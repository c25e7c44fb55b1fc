"""Loops whose counter comes near the largest Int64, or whose range is wider than one: they run as Python's do."""

from __future__ import annotations

import numpy as np
import pytest

import triptych as tt
from triptych import cute

LAST = 2**63 - 1


@tt.kernel
def count_ones(turns: cute.Tensor, start: tt.Int64, stop: tt.Int64) -> None:
    thread, _, _ = cute.arch.thread_idx()
    count = tt.Int64(0)
    for _ in range(start, stop):
        count += 1
    turns[thread] = count


@tt.jit
def ones(turns: cute.Tensor, start: tt.Int64, stop: tt.Int64) -> None:
    count_ones(turns, start, stop).launch(grid=1, block=32)


@tt.jit
def threes(start: tt.Int64, stop: tt.Int64) -> tt.Int64:
    count = tt.Int64(0)
    for _ in range(start, stop, 3):
        count += 1
    return count


@tt.jit
def steps(start: tt.Int64, stop: tt.Int64, step: tt.Int64) -> tt.Int64:
    count = tt.Int64(0)
    for _ in range(start, stop, step):
        count += 1
    return count


@pytest.mark.parametrize(
    ("start", "stop"), [(LAST - 9, LAST), (-LAST - 1, -LAST + 4), (5, 5), (5, 4), (LAST, -LAST), (0, 200_000)]
)
def test_every_number_is_counted(start: int, stop: int) -> None:
    turns = np.zeros(32, np.int64)
    ones(turns, start, stop)
    assert turns.tolist() == [len(range(start, stop))] * 32
    assert threes(start, stop) == len(range(start, stop, 3))


@pytest.mark.parametrize("step", [2**60, 2**62, LAST, -(2**61), -LAST, -LAST - 1])
@pytest.mark.parametrize(("start", "stop"), [(-LAST - 1, LAST), (LAST, -LAST - 1), (LAST - 1, LAST), (3, 3)])
def test_a_range_may_be_wider_than_the_type(start: int, stop: int, step: int) -> None:
    assert steps(start, stop, step) == len(range(start, stop, step))
