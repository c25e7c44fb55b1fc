"""Debug builds: every access is checked; other builds have no trace of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.array_memory import GMEM, address, aligned, over
from triptych import cute
from triptych.diagnostics.runtime_errors import MisalignedAccessError, NullPointerError, OutOfBoundsError
from triptych.support.config import override

NUMBERS = aligned(32, np.float32)


@pytest.fixture
def checked() -> Iterator[None]:
    with override(debug="bounds"):
        yield


@tt.jit
def element(a: tt.Int64, i: tt.Int32, j: tt.Int32) -> Any:
    return over(a, cute.make_layout((4, 8), stride=(8, 1)))[i, j]


def test_other_builds_are_not_checked() -> None:
    assert "cf.assert" not in tt.compile(element, 0, 0, 0).mlir
    element(address(NUMBERS), 2, 9)


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize(("i", "j"), [(4, 0), (-1, 0), (3, 8), (2**30, 0)])
def test_outside_the_memory(i: int, j: int) -> None:
    with pytest.raises(OutOfBoundsError, match=r"(?s)outside the memory of .*\(4,8\):\(8,1\).*test_tensor_debug.py"):
        element(address(NUMBERS), i, j)


@pytest.mark.usefixtures("checked")
def test_inside_the_memory() -> None:
    assert element(address(NUMBERS), 3, 7) == 0.0


@pytest.mark.usefixtures("checked")
def test_a_part_is_checked_against_the_whole() -> None:
    @tt.jit
    def beyond(a: tt.Int64, n: tt.Int32, i: tt.Int32) -> Any:
        tiles = cute.zipped_divide(over(a, cute.make_layout((n, 4))), (4, 4))
        part = tiles[(None, None), (i, 0)]
        registers = cute.make_rmem_tensor((4, 4), tt.Float32)
        registers.store(part.load())
        return registers[0, 0]

    assert beyond(address(NUMBERS), 8, 1) == 0.0
    with pytest.raises(OutOfBoundsError):
        beyond(address(NUMBERS), 6, 1)


@pytest.mark.usefixtures("checked")
def test_registers_and_vectors_are_checked() -> None:
    @tt.jit
    def both(i: tt.Int32) -> Any:
        registers = cute.make_rmem_tensor((4, 4), tt.Int4)
        registers.fill(1)
        return registers[i, 3]

    assert both(3) == 1
    with pytest.raises(OutOfBoundsError, match="outside a mode of 4 elements"):
        both(4)


@pytest.mark.usefixtures("checked")
def test_misaligned() -> None:
    @tt.jit
    def row(a: tt.Int64) -> Any:
        registers = cute.make_rmem_tensor((4,), tt.Float32)
        registers.store(over(a, cute.make_layout((4,)), tt.Float32, 16).load())
        return registers[0]

    assert row(address(NUMBERS)) == 0.0
    with pytest.raises(MisalignedAccessError, match="multiple of 16 bytes"):
        row(address(NUMBERS) + 4)


@pytest.mark.usefixtures("checked")
def test_null() -> None:
    with pytest.raises(NullPointerError, match="null pointer"):
        element(0, 0, 0)


@pytest.mark.usefixtures("checked")
def test_the_memory_of_a_tensor_is_known_after_a_loop() -> None:
    @tt.jit
    def move(a: tt.Int64, n: tt.Int32, steps: tt.Int32) -> Any:
        window = over(a, cute.make_layout((n,)))
        for _ in range(steps):
            window = cute.domain_offset((1,), window)
        return window[0]

    assert move(address(NUMBERS), 4, 3) == 0.0
    with pytest.raises(OutOfBoundsError):
        move(address(NUMBERS), 4, 4)


@pytest.mark.usefixtures("checked")
def test_a_kernel_reports_through_its_launch() -> None:
    @tt.kernel
    def write(t: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        t[thread] = 1.0

    @tt.jit
    def launch(a: tt.Int64, n: tt.Int32) -> None:
        write(over(a, cute.make_layout((n,)))).launch(grid=1, block=8)

    written = aligned(32, np.float32)
    launch(address(written), 8)
    with pytest.raises(OutOfBoundsError, match=r"t\[thread\]"):
        launch(address(written), 7)


def test_a_pointer_without_a_tensor_is_checked_for_null_only() -> None:
    @tt.jit
    def read(a: tt.Int64) -> Any:
        pointer = cute.make_ptr(tt.Float32, a, GMEM)
        return cute.Tensor(pointer, cute.make_layout((4,)))[3]

    with override(debug="bounds"):
        assert read(address(NUMBERS)) == NUMBERS[3]
