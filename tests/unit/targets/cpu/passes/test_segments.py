"""Kernels that barriers cut into many segments: the memory between segments, and functions of their own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import triptych as tt
from triptych import cute
from triptych.diagnostics.runtime_errors import AssertionFailedError
from triptych.targets.cpu.passes.outline_warps import MANY

THREADS = 96
FEW, MORE = 4, 40
"""Steps of two segments: fewer and more than one function may have."""


@tt.kernel
def mixing(x: cute.Tensor, steps: tt.Constexpr[int], most: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Int32, cute.make_layout(THREADS), 16)
    value, other = x[thread], x[thread] + 1
    for step in tt.range_constexpr(steps):
        shared[thread] = value
        cute.arch.sync_threads()
        neighbour = shared[(thread + 1) % THREADS]
        if tt.const_expr(step == steps - 2):
            assert neighbour < most
        value, other = other - neighbour, value + step
        cute.arch.sync_threads()
    x[thread] = value + 3 * other


@tt.jit
def mix(x: cute.Tensor, steps: tt.Constexpr[int], most: tt.Constexpr[int] = 2**31 - 1) -> None:
    mixing(x, steps, most).launch(grid=1, block=THREADS)


Numbers = NDArray[np.int32]


def mixed(x: Numbers, steps: int) -> tuple[Numbers, Numbers]:
    """What the threads hold after some steps."""
    value, other = x, x + 1
    for step in range(steps):
        value, other = other - np.roll(value, -1), value + np.int32(step)
    return value, other


def llvm(steps: int) -> str:
    compiled = tt.compile(mix, np.zeros(THREADS, np.int32), steps)
    return compiled._loaded.compiled.lowered.llvm


@pytest.mark.parametrize("steps", [FEW, MORE])
def test_any_number_of_segments(steps: int) -> None:
    x = np.arange(THREADS, dtype=np.int32) * 7 % 31
    value, other = mixed(x, steps)
    mix(x, steps)
    assert (x == value + 3 * other).all()


def test_values_that_are_done_leave_their_memory_to_others() -> None:
    few, more = (llvm(steps).count("alloca <32 x i32>") for steps in (FEW, MORE))
    assert few == more


def test_only_many_segments_are_functions_of_their_own() -> None:
    assert 2 * FEW < MANY < 2 * MORE
    assert "@mixing.warps" not in llvm(FEW)
    assert llvm(MORE).count("define internal void @mixing.warps") == 2 * MORE


@pytest.mark.parametrize("steps", [FEW, MORE])
def test_a_check_between_barriers_stops_the_kernel(steps: int) -> None:
    x = np.arange(THREADS, dtype=np.int32)
    neighbour = np.roll(mixed(x, steps - 2)[0], -1)
    with pytest.raises(AssertionFailedError) as raised:
        mix(x, steps, int(np.max(neighbour)))
    assert f"thread ({np.argmax(neighbour)}, 0, 0)" in str(raised.value)
    assert (x == np.arange(THREADS)).all()
