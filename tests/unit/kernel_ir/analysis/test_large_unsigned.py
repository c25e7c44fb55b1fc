"""Divisors from the upper half of an unsigned type: what all lanes share is still divided by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute

NUMBERS = (0, 7, 100, 2**31, 2**32 - 2, 2**32 - 1)


@tt.kernel
def divided(quotients: cute.Tensor, rests: cute.Tensor, number: tt.Uint32, divisor: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    quotients[thread] = tt.Uint32(thread) * (number // divisor)
    rests[thread] = tt.Uint32(thread) * (number * 4 % divisor)


@tt.jit
def run(quotients: cute.Tensor, rests: cute.Tensor, number: tt.Uint32, divisor: tt.Constexpr[int]) -> None:
    divided(quotients, rests, number, divisor).launch(grid=1, block=32)


@pytest.mark.parametrize("divisor", [3, 2**31 - 1, 2**31, 2**32 - 4, 2**32 - 2, 2**32 - 1])
def test_a_number_of_the_block_is_divided(divisor: int) -> None:
    compiled: Any = tt.compile(run, *(np.zeros(32, np.uint32) for _ in range(2)), tt.Uint32(0), divisor)
    threads = np.arange(32, dtype=np.uint32)
    for number in NUMBERS:
        quotients, rests = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
        compiled(quotients, rests, number)
        np.testing.assert_array_equal(quotients, threads * np.uint32(number // divisor))
        np.testing.assert_array_equal(rests, threads * np.uint32(number * 4 % 2**32 % divisor))
