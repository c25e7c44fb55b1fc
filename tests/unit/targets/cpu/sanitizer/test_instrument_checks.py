"""`instrument-checks`, and the checkers behind it: what is told, what is found, and what is not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import triptych as tt
from tests.passes.running import parsed
from triptych import cute
from triptych.kernel_ir.dialects.check import CHECK_ACCESS, CHECK_PLACE, CHECK_SYNC, CHECKS_ATTRIBUTE
from triptych.kernel_ir.dialects.kernel_attributes import PARTS_ATTRIBUTE
from triptych.sanitizer.finding_errors import RaceError, SameValueWarning, UninitialisedReadError
from triptych.sanitizer.findings import collecting
from triptych.support.config import override
from triptych.targets.cpu.sanitizer.instrument_checks import instrument_checks

THREADS = 64


@tt.kernel
def reverses(out: cute.Tensor, barrier: tt.Constexpr[bool]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    kept = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, THREADS), cute.make_layout(THREADS))
    kept[thread] = tt.Float32(thread)
    if barrier:
        cute.arch.sync_threads()
    out[thread] = kept[THREADS - 1 - thread]


@tt.jit
def reversing(out: cute.Tensor, barrier: tt.Constexpr[bool]) -> None:
    reverses(out, barrier).launch(grid=3, block=THREADS)


@tt.kernel
def all_write(out: cute.Tensor, same: tt.Constexpr[bool]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    kept = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 1), cute.make_layout(1))
    kept[0] = tt.Float32(1.0) if same else tt.Float32(thread)
    cute.arch.sync_threads()
    out[thread] = kept[0]


@tt.jit
def writing(out: cute.Tensor, same: tt.Constexpr[bool]) -> None:
    all_write(out, same).launch(grid=1, block=THREADS)


@tt.kernel
def many_barriers(out: cute.Tensor, count: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    kept = cute.make_tensor(cute.arch.alloc_smem(tt.Int32, 32), cute.make_layout(32))
    kept[thread] = tt.Int32(thread)
    cute.arch.sync_threads()
    for _ in range(count):
        value = kept[31 - thread]
        cute.arch.sync_threads()
        kept[thread] = value + 1
        cute.arch.sync_threads()
    out[thread] = kept[thread]


@tt.jit
def counting(out: cute.Tensor, count: tt.Int32) -> None:
    many_barriers(out, count).launch(grid=1, block=32)


def numbers() -> NDArray[np.float32]:
    return np.zeros(THREADS, np.float32)


def test_a_race_is_raised_when_the_launch_has_ended() -> None:
    out = numbers()
    with override(debug="races"), pytest.raises(RaceError) as raised:
        reversing(out, False)
    # What the second warp reads, the first has written; the first reads what no warp of its block has written yet.
    assert np.array_equal(out[32:], np.arange(32)[::-1]), "the run went on"
    error = raised.value
    assert error.span is not None
    assert error.instead.endswith(f"between line {error.span.line - 3} and line {error.span.line}")


def test_the_same_kernel_with_its_barrier_is_clean() -> None:
    with override(debug="races,init"):
        reversing(numbers(), True)


def test_nothing_is_checked_without_the_word() -> None:
    for words in ("", "bounds"):
        with override(debug=words):
            reversing(numbers(), False)


def test_release_code_has_no_checks() -> None:
    with override(debug=""):
        plain = tt.compile(reversing, numbers(), True)
    with override(debug="races"):
        checked = tt.compile(reversing, numbers(), True)
    assert "triptych_check" not in plain.asm
    assert "triptych_check" in checked.asm


def test_findings_of_one_pair_of_lines_are_one_and_counted() -> None:
    with override(debug="races"), collecting() as collection:
        reversing(numbers(), False)
        reversing(numbers(), False)
    (finding,) = collection.findings
    assert finding.count == 2 * 3 * THREADS
    assert len(finding.examples) == 3


def test_the_same_value_by_many_threads_is_a_note() -> None:
    with override(debug="races"), pytest.warns(SameValueWarning, match="the same value"):
        writing(numbers(), True)
    with override(debug="races"), pytest.raises(RaceError, match="write to the same place"):
        writing(numbers(), False)


@tt.kernel
def passes_registers_on(x: cute.Tensor, out: cute.Tensor, count: tt.Int32) -> None:
    """Loops and branches decide which of two register tensors is accessed."""
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    one, other = cute.make_rmem_tensor(2, tt.Float32), cute.make_rmem_tensor(2, tt.Float32)
    one.fill(0)
    other.fill(1)
    for _ in range(count):
        one, other = other, one
        one[0] = one[0] + x[t]
    left = count
    while left > 0:
        if left % 2 == 0:
            one, other = other, one
        one[left % 2] += 1.0
        left -= 1
    out[b * 32 + t] = one[0] + one[1]


@tt.jit
def passing_on(x: cute.Tensor, out: cute.Tensor, count: tt.Int32) -> None:
    passes_registers_on(x, out, count).launch(grid=4, block=32)


def test_registers_that_are_passed_on_are_no_memory_of_others() -> None:
    x, out, first = np.arange(32, dtype=np.float32), np.zeros(128, np.float32), np.zeros(128, np.float32)
    passing_on(x, first, 3)
    with override(debug="races,init,global"), collecting() as collection:
        passing_on(x, out, 3)
    assert not collection.findings
    assert np.array_equal(out, first)


def test_more_barriers_than_16_bits_count() -> None:
    out = np.zeros(32, np.int32)
    with override(debug="races,init"):
        counting(out, 36_000)
    assert np.array_equal(out, np.arange(32) + 36_000)


def test_blocks_in_another_order_and_many_of_them() -> None:
    with override(debug="races,init", block_order="shuffled", threads=2):
        reversing(numbers(), True)


def test_a_word_that_nobody_wrote() -> None:
    @tt.kernel
    def reads(out: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        kept = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, THREADS), cute.make_layout(THREADS))
        out[thread] = kept[thread]

    @tt.jit
    def run(out: cute.Tensor) -> None:
        reads(out).launch(grid=1, block=THREADS)

    with override(debug="init"), pytest.raises(UninitialisedReadError, match=r"thread 0 of block \(0, 0, 0\)"):
        run(numbers())


def test_the_pass_reports_accesses_and_barriers_and_names_parts() -> None:
    with override(debug="races"):
        module = parsed(tt.compile(reversing, numbers(), True).mlir)
        assert PARTS_ATTRIBUTE in str(module)
        instrument_checks(module)
    text = str(module)
    assert CHECKS_ATTRIBUTE in text
    assert [text.count(name) for name in (CHECK_ACCESS, CHECK_SYNC, CHECK_PLACE)] == [2, 1, 0]
