"""Warnings of what makes kernels slow: at the right line, with the reason, and of nothing that must be so."""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.cute.nvgpu import CopyUniversalOp
from triptych.cute.runtime import FakeTensor, make_fake_tensor
from triptych.support.config import override
from triptych.support.errors import PerformanceWarning
from triptych.targets.nvptx.report import usage

pytestmark = needs_assembler
TARGET = "nvptx:sm_80"


@tt.kernel
def by_vectors(a: cute.Tensor, b: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    cute.autovec_copy(cute.zipped_divide(a, (4,))[None, thread], cute.zipped_divide(b, (4,))[None, thread])


@tt.kernel
def one_each(a: cute.Tensor, b: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    b[thread] = a[thread] + a[thread + 128]


@tt.kernel
def by_rows(a: cute.Tensor, b: cute.Tensor) -> None:
    """The threads beside this one have the elements between."""
    thread, _, _ = cute.arch.thread_idx()
    for k in tt.range_constexpr(4):
        b[thread + 32 * k] = a[thread + 32 * k]


@tt.kernel
def through_registers(a: cute.Tensor, b: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    source, target = (cute.zipped_divide(tensor, (4,)) for tensor in (a, b))
    numbers = [source[k, thread] for k in range(4)]
    for k in tt.range_constexpr(4):
        target[k, thread] = numbers[k]


@tt.kernel
def in_turn(a: cute.Tensor, b: cute.Tensor) -> None:
    """A store may change what the next load reads."""
    thread, _, _ = cute.arch.thread_idx()
    for k in tt.range_constexpr(4):
        b[4 * thread + k] = a[4 * thread + k]


@tt.kernel
def the_rest(a: cute.Tensor, b: cute.Tensor) -> None:
    """Each element has to have a condition: the last piece may be shorter."""
    thread, _, _ = cute.arch.thread_idx()
    for k in tt.range_constexpr(4):
        if 4 * thread + k < cute.size(a):
            b[4 * thread + k] = a[4 * thread + k]


@tt.kernel
def as_asked(a: cute.Tensor, b: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    atom = cute.make_copy_atom(CopyUniversalOp(), tt.Float32, num_bits_per_copy=128)
    cute.copy(atom, cute.zipped_divide(a, (4,))[None, thread], cute.zipped_divide(b, (4,))[None, thread])


@tt.kernel
def crowded(a: cute.Tensor, b: cute.Tensor) -> None:
    """Two hundred numbers at once, where a thread has 64 registers."""
    thread, _, _ = cute.arch.thread_idx()
    numbers = [a[thread + 1024 * k] for k in range(200)]
    cute.arch.sync_threads()
    for k in tt.range_constexpr(200):
        b[thread + 1024 * k] = numbers[199 - k] * numbers[k]


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    """Warnings of other tests are forgotten, and shown as Python shows them by default."""
    usage._shown.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield


def strided() -> FakeTensor:
    return make_fake_tensor(tt.Float32, (cute.sym_int(divisibility=4),), (cute.sym_int64(),), assumed_align=16)


def spread() -> FakeTensor:
    return make_fake_tensor(tt.Float32, (cute.sym_int(divisibility=4),), (2,), assumed_align=16)


def unaligned() -> FakeTensor:
    return vector(align=4)


def half_aligned() -> FakeTensor:
    return vector(align=8)


def compiled(kernel: Any, make: Any, block: int = 32) -> Any:
    @tt.jit
    def launched(a: cute.Tensor, b: cute.Tensor) -> None:
        kernel(a, b).launch(grid=1, block=block)

    return tt.compile(launched, make(), make(), target=TARGET)


def warned(kernel: Any, make: Any = vector, block: int = 32) -> tuple[list[warnings.WarningMessage], str]:
    """The warnings of a compilation, and its PTX."""
    with warnings.catch_warnings(record=True) as caught:
        ptx = compiled(kernel, make, block).__ptx__
    return caught, ptx


def accesses(ptx: str) -> int:
    return len(re.findall(r"\s(?:ld|st)\.global", ptx))


ALIGNMENT = "only known to be a multiple of {} bytes"


@pytest.mark.parametrize(
    ("kernel", "make", "says"),
    [
        (by_vectors, unaligned, f"4 loads of 32 bits instead of 128 and 4 stores .*: .*{ALIGNMENT.format(4)}"),
        (by_vectors, half_aligned, f"2 loads of 64 bits instead of 128 and 2 stores .*: .*{ALIGNMENT.format(8)}"),
        (through_registers, unaligned, f"4 loads of 32 bits instead of 128: .*{ALIGNMENT.format(4)}"),
        (in_turn, vector, "4 loads of 32 bits instead of 128 and 4 stores .*: other accesses"),
        (as_asked, strided, "4 loads of 32 bits instead of 128 and 4 stores .*: .*a dynamic stride"),
        (as_asked, spread, "4 loads of 32 bits instead of 128 and 4 stores .*: they are not next to each other"),
    ],
)
def test_neighbours_that_are_moved_one_by_one(kernel: Any, make: Any, says: str) -> None:
    caught, ptx = warned(kernel, make)
    assert [warning.category for warning in caught] == [PerformanceWarning] * len(caught)
    assert re.search(says, str(caught[0].message))
    for warning in caught:
        assert warning.filename == __file__
        assert re.search(r"copy\(|\[4 \* thread \+ k\]|\[k, thread\]", linecache.getline(__file__, warning.lineno))
    assert accesses(ptx) > 2


@pytest.mark.parametrize(
    ("kernel", "make", "needed"),
    [
        (by_vectors, vector, 2),
        (through_registers, vector, 2),
        (as_asked, vector, 2),
        (one_each, unaligned, 3),
        (by_rows, unaligned, 8),
        (by_vectors, strided, 8),
        (by_vectors, spread, 8),
        (the_rest, vector, 8),
    ],
)
def test_what_must_be_so_is_not_warned_of(kernel: Any, make: Any, needed: int) -> None:
    caught, ptx = warned(kernel, make)
    assert [str(warning.message) for warning in caught] == []
    assert accesses(ptx) <= needed


def test_a_line_is_warned_of_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        compiled(by_vectors, unaligned)
        compiled(by_vectors, lambda: vector(tt.Int32, align=4))
        assert len(caught) == 1
        compiled(by_vectors, half_aligned)
        assert len(caught) == 2


def test_spills_are_warned_of_at_the_kernel() -> None:
    (warning,), _ = warned(crowded, block=1024)
    assert warning.category is PerformanceWarning
    assert "crowded needs more than 64 registers" in str(warning.message)
    assert warning.filename == __file__


@pytest.mark.parametrize("kernel", [by_vectors, crowded])
def test_all_are_off_by_one_setting(kernel: Any) -> None:
    with override(performance_warnings=False):
        assert warned(kernel, unaligned, 1024)[0] == []
