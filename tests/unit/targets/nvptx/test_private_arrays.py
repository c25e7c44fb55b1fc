"""Private arrays stay in registers: no access of a kernel that could have a constant place goes to memory."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute

pytestmark = needs_assembler

COUNT = 64


@tt.kernel
def by_counter(a: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    mine = cute.make_rmem_tensor(COUNT, tt.Float32)
    for i in range(COUNT):
        mine[i] = a[t + i * 32] * 2.0
    for i in tt.range_constexpr(COUNT):
        a[t + 32 * i] = mine[COUNT - 1 - i]


@tt.kernel
def by_two_counters(a: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    mine = cute.make_rmem_tensor((8, 8), tt.Float16)
    for i in range(8):
        for j in range(8):
            mine[i, j] = a[t + 8 * i + j].to(tt.Float16)
    a[t] = mine.load().to(tt.Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)


@tt.kernel
def whole_and_by_elements(a: cute.Tensor) -> None:
    """One vector of all elements beside accesses to single ones, in a loop that carries them."""
    t, _, _ = cute.arch.thread_idx()
    mine = cute.make_rmem_tensor(COUNT, tt.Float32)
    mine.fill(0.0)
    for n in range(a[0].to(tt.Int32)):
        for i in tt.range_constexpr(COUNT):
            mine[i] = mine[i] + a[n + 32 * i]
    half = cute.make_rmem_tensor(COUNT, tt.Float16)
    half.store(mine.load().to(tt.Float16))
    for i in tt.range_constexpr(COUNT):
        a[t + 32 * i] = half[i].to(tt.Float32)


@tt.jit
def launched(a: cute.Tensor, kernel: tt.Constexpr[Any]) -> None:
    kernel(a).launch(grid=1, block=32)


@pytest.mark.parametrize("kernel", [by_counter, by_two_counters, whole_and_by_elements], ids=lambda k: k.__name__)
def test_no_local_memory(kernel: Any) -> None:
    compiled = tt.compile(launched, vector(), kernel, target="nvptx:sm_80")
    assert ".local" not in compiled.__ptx__
    (used,) = compiled.resources.values()
    assert used.stack == 0


@tt.kernel
def by_a_number_of_the_run(a: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    mine = cute.make_rmem_tensor(4, tt.Float32)
    mine.store(cute.zipped_divide(a, (4,))[None, t].load())
    a[t] = mine[t % 4]


def test_an_index_that_only_the_run_knows_needs_memory() -> None:
    compiled = tt.compile(launched, vector(), by_a_number_of_the_run, target="nvptx:sm_80")
    assert "st.local" in compiled.__ptx__


@tt.kernel
def rolled(a: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    mine = cute.make_rmem_tensor(COUNT, tt.Float32)
    for i in tt.range(COUNT, unroll=1):
        mine[i] = a[t + i * 32]
    for i in tt.range_constexpr(COUNT):
        a[t + 32 * i] = mine[COUNT - 1 - i]


def test_a_program_may_keep_its_loop() -> None:
    compiled = tt.compile(launched, vector(), rolled, target="nvptx:sm_80")
    assert "st.local" in compiled.__ptx__
