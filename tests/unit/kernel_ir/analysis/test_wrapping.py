"""Numbers of threads that leave their type: what wraps around in some lanes is computed in each."""

from __future__ import annotations

import numpy as np
import pytest

import triptych as tt
from triptych import cute


@tt.kernel
def shifted(wide: cute.Tensor, halves: cute.Tensor, amount: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    number = thread << amount
    wide[thread] = tt.Int64(number)
    halves[thread] = tt.Uint32(number) // 2


@tt.jit
def run(wide: cute.Tensor, halves: cute.Tensor, amount: tt.Constexpr[int]) -> None:
    shifted(wide, halves, amount).launch(grid=1, block=32)


@pytest.mark.parametrize("amount", [0, 20, 25, 26, 27, 28, 30])
def test_a_shift_out_of_the_type_wraps(amount: int) -> None:
    wide, halves = np.zeros(32, np.int64), np.zeros(32, np.uint32)
    run(wide, halves, amount)
    expected = np.arange(32, dtype=np.int32) << np.int32(amount)
    np.testing.assert_array_equal(wide, expected)
    np.testing.assert_array_equal(halves, expected.view(np.uint32) // 2)


@tt.kernel
def counted(turns: cute.Tensor, start: tt.Int32, stop: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    count = tt.Int32(0)
    for _ in range(start - thread, stop):
        count += 1
    turns[thread] = count


@tt.jit
def run_counted(turns: cute.Tensor, start: tt.Int32, stop: tt.Int32) -> None:
    counted(turns, start, stop).launch(grid=1, block=32)


@pytest.mark.parametrize("start", [0, -(2**31) + 3, -(2**31) + 40])
def test_a_start_below_the_type_lies_above_every_stop(start: int) -> None:
    turns = np.zeros(32, np.int32)
    run_counted(turns, start, start + 5)
    starts = np.int32(start) - np.arange(32, dtype=np.int32)
    np.testing.assert_array_equal(turns, np.maximum(start + 5 - starts.astype(np.int64), 0))
