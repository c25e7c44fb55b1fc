"""Numbers of threads that wrap around inside a warp and are then addresses: every lane has its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import triptych as tt
from triptych import cute

SIZE = 1 << 16


@tt.kernel
def guarded(numbers: cute.Tensor, found: cute.Tensor, start: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    place = tt.Uint32(thread) + tt.Uint32(start)
    if place < 32:
        found[thread] = numbers[place]


@tt.kernel
def in_a_ring(numbers: cute.Tensor, found: cute.Tensor, start: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    found[thread] = numbers[tt.Uint16(thread + start)]


@tt.kernel
def in_a_signed_ring(numbers: cute.Tensor, found: cute.Tensor, start: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    found[thread] = numbers[tt.Int32(tt.Int16(thread + start)) + 32768]


def expected(kernel: Any, start: int) -> NDArray[np.int32]:
    places = np.arange(32) + start
    if kernel is guarded:
        return np.where((places >= 0) & (places < 32), places, 0).astype(np.int32)
    return ((places if kernel is in_a_ring else places + 32768) % SIZE).astype(np.int32)


def launcher(kernel: Any) -> Callable[..., None]:
    @tt.jit
    def run(numbers: cute.Tensor, found: cute.Tensor, start: tt.Int32) -> None:
        kernel(numbers, found, start).launch(grid=1, block=32)

    return run


@pytest.mark.parametrize("kernel", [guarded, in_a_ring, in_a_signed_ring])
@pytest.mark.parametrize("start", [0, 3, -5, 32760, 65530])
def test_a_lane_reads_from_where_its_own_number_says(kernel: Any, start: int) -> None:
    found = np.zeros(32, np.int32)
    launcher(kernel)(np.arange(SIZE, dtype=np.int32), found, start)
    np.testing.assert_array_equal(found, expected(kernel, start))
