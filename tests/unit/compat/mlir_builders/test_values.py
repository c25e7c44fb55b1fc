"""Branches and loops that programs build by hand, also around the phases of an mbarrier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat.mlir_builders.dialects import nvvm
from triptych.cutlass_dsl import (
    Boolean,
    Int32,
    extract_mlir_values,
    if_generate,
    new_from_mlir_values,
    not_,
    while_generate,
    yield_out,
)
from triptych.metastage.trace.errors import OperandTypeError


def test_values_of_branches_and_rounds_of_loops() -> None:
    @cute.kernel
    def kernel(out: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        chosen = if_generate(thread < 10, lambda: Boolean(True).ir_value(), lambda: thread % 2 == 0, None, [Boolean])
        out[thread] = if_generate(chosen, lambda x: x + 1, lambda x: x - 1, [thread], [Int32])
        with while_generate([Int32(0)], lambda x: x < 3) as (x,):
            out[thread] = out[thread] + 100
            yield_out([x + 1])

    @cute.jit
    def run(out: cute.Tensor) -> None:
        kernel(out).launch(grid=1, block=32)

    out = np.zeros(32, np.int32)
    run(out)
    assert out.tolist() == [300 + (t + 1 if t < 10 or t % 2 == 0 else t - 1) for t in range(32)]


def test_rounds_compare_all_bits_of_integers_and_leave_their_values() -> None:
    @cute.kernel
    def kernel(out: cute.Tensor) -> None:
        loop = while_generate([Int32(-0x7FFF8000), Int32(0)], lambda x, _: x == 0x80008000)
        with loop as (x, count):
            yield_out([x + 1, count + 1])
        out[0], out[1] = loop.results

    @cute.jit
    def run(out: cute.Tensor) -> None:
        kernel(out).launch(grid=1, block=1)

    out = np.zeros(2, np.int32)
    run(out)
    assert out.tolist() == [-0x7FFF7FFF, 1]


def _asked(barrier: Any, phase: Any) -> Any:
    return nvvm.mbarrier_try_wait_parity_timelimit(barrier.llvm_ptr, Int32(phase), Int32(1000).ir_value())


def _wait(barrier: Any, phase: int) -> None:
    """Ask once, then in a loop."""

    def ask_on() -> Any:
        with while_generate([Boolean(False).ir_value()], lambda done: not_(done)):
            yield_out([_asked(barrier, phase)])
        return Boolean(True).ir_value()

    if_generate(_asked(barrier, phase), lambda: Boolean(True).ir_value(), ask_on, None, [Boolean])


def test_a_wait_for_an_mbarrier_that_a_program_builds() -> None:
    @cute.kernel
    def kernel(out: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        barrier = cute.arch.alloc_smem(tt.Int64, 1)
        number = cute.make_tensor(cute.arch.alloc_smem(tt.Int32, 1), cute.make_layout(1))
        if thread == 0:
            cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()
        if cute.arch.warp_idx() == 1:
            if nvvm.elect_sync():
                number[0] = 7
                cute.arch.mbarrier_arrive(barrier)
        else:
            _wait(barrier, 0)
            out[thread] = number[0]

    @cute.jit
    def run(out: cute.Tensor) -> None:
        kernel(out).launch(grid=2, block=64)

    out = np.zeros(32, np.int32)
    run(out)
    assert out.tolist() == [7] * 32


def test_sides_give_as_many_values_as_are_named() -> None:
    @cute.jit
    def run(x: tt.Int32) -> None:
        if_generate(x > 0, lambda: (x, x), lambda: x, None, [Int32])

    with pytest.raises(OperandTypeError, match="as many values"):
        run(1)


class Tile:
    """As schedulers of public programs: an object that makes another one like its own parts."""

    def __init__(self, row: Any, column: Any) -> None:
        self.row, self.column = row, column

    def __extract_mlir_values__(self) -> list[Any]:
        return [*extract_mlir_values(self.row), *extract_mlir_values(self.column)]

    def __new_from_mlir_values__(self, values: list[Any]) -> Tile:
        return Tile(new_from_mlir_values(self.row, values[:1]), new_from_mlir_values(self.column, values[1:]))


def test_an_object_of_one_side_of_a_branch_says_what_the_other_object_is_like() -> None:
    """Its numbers belong to the side, which is over when the two sides meet."""

    @cute.kernel
    def kernel(out: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        tile = Tile(Int32(-1), Int32(0))
        if thread % 2 == 0:
            tile = Tile(thread // 4, thread % 4)
        out[thread] = tile.row * 10 + tile.column

    @cute.jit
    def run(out: cute.Tensor) -> None:
        kernel(out).launch(grid=1, block=32)

    out = np.zeros(32, np.int32)
    run(out)
    assert out.tolist() == [t // 4 * 10 + t % 4 if t % 2 == 0 else -10 for t in range(32)]
