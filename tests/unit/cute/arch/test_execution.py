"""Permuted bytes, and registers that warps give up: the first against Python's own bytes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.metastage.trace.errors import OperandTypeError


@cute.kernel
def permute(selectors: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    out[thread] = cute.arch.prmt(tt.Uint32(0x83828180), 0x07060504, selectors[thread])


@cute.jit
def permuted(selectors: cute.Tensor, out: cute.Tensor) -> None:
    permute(selectors, out).launch(grid=1, block=256)


def test_bytes_are_those_that_the_digits_name() -> None:
    selectors = np.array([a | b << 4 | 0x5400 for a, b in product(range(16), repeat=2)], np.uint32)
    out = np.zeros(256, np.uint32)
    permuted(selectors, out)
    source = bytes([0x80, 0x81, 0x82, 0x83, 4, 5, 6, 7])

    def byte(digit: int) -> int:
        return source[digit] if digit < 8 else 0xFF * (source[digit - 8] >> 7)

    expected = [sum(byte(int(s) >> 4 * i & 15) << 8 * i for i in range(4)) for s in selectors]
    assert out.tolist() == expected


@pytest.mark.parametrize("count", [16, 30, 264])
def test_counts_that_no_thread_can_have_are_refused(count: int) -> None:
    @cute.kernel
    def kernel() -> None:
        cute.arch.setmaxregister_increase(count)

    @cute.jit
    def launch() -> None:
        kernel().launch(grid=1, block=128)

    with pytest.raises(OperandTypeError, match="registers"):
        launch()


def test_on_the_cpu_registers_are_nobodys() -> None:
    @cute.kernel
    def kernel(out: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        cute.arch.warpgroup_reg_dealloc(40)
        cute.arch.warpgroup_reg_alloc(232)
        out[thread] = thread

    @cute.jit
    def launch(out: cute.Tensor) -> None:
        kernel(out).launch(grid=1, block=128)

    out = np.zeros(128, np.int32)
    launch(out)
    assert out.tolist() == list(range(128))
