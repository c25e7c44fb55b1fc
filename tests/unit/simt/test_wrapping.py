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
