"""How wide tensors are read and written: what layout and alignment allow, and never more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.array_memory import accesses, address, aligned, over
from triptych import cute
from triptych.layout import ComposedLayout, Layout, Swizzle


@pytest.mark.parametrize(
    ("dtype", "count", "align", "expected"),
    [
        (tt.Float32, 8, 16, ["vector<4xf32> align 16"] * 2),
        (tt.Float32, 8, 8, ["vector<2xf32> align 8"] * 4),
        (tt.Float32, 4, 4, ["f32 align 4"] * 4),
        (tt.Float32, 6, 16, ["vector<4xf32> align 16", "vector<2xf32> align 16"]),
        (tt.Float16, 8, 16, ["vector<8xf16> align 16"]),
        (tt.Float64, 4, 16, ["vector<2xf64> align 16"] * 2),
        (tt.Int8, 16, 64, ["vector<16xi8> align 64"]),
        (tt.Float8E4M3FN, 4, 4, ["vector<4xi8> align 4"]),
        (tt.Int4, 32, 16, ["vector<16xi8> align 16"]),
        (tt.Boolean, 4, 4, ["vector<4xi8> align 4"]),
    ],
)
def test_contiguous_elements_are_read_together(dtype: Any, count: int, align: int, expected: list[str]) -> None:
    def copy(a: tt.Int64) -> None:
        registers = cute.make_rmem_tensor((count,), dtype)
        registers.store(over(a, cute.make_layout((count,)), dtype, align).load())

    assert accesses(copy, 0) == [f"load {access}" for access in expected]


def test_a_store_is_as_wide_as_a_load() -> None:
    def fill(a: tt.Int64) -> None:
        over(a, cute.make_layout((8,)), tt.Float32, 16).fill(1.0)

    assert accesses(fill, 0) == ["store vector<4xf32> align 16"] * 2


def test_memory_order_counts_not_the_order_of_coordinates() -> None:
    """A row-major tile is read in rows although its coordinates run down the columns."""

    def copy(a: tt.Int64) -> None:
        registers = cute.make_rmem_tensor((4, 4), tt.Float32)
        registers.store(over(a, cute.make_layout((4, 4), stride=(8, 1)), tt.Float32, 16).load())

    assert accesses(copy, 0) == ["load vector<4xf32> align 16"] * 4


def test_run_time_strides_keep_rows_together_when_they_are_declared_multiples() -> None:
    def copy(a: tt.Int64, pitch: tt.Int32) -> None:
        t = over(a, cute.make_layout((2, 4), stride=(cute.assume(pitch, 4), 1)), tt.Float32, 16)
        cute.make_rmem_tensor((2, 4), tt.Float32).store(t.load())

    def unknown(a: tt.Int64, pitch: tt.Int32) -> None:
        t = over(a, cute.make_layout((2, 4), stride=(pitch, 1)), tt.Float32, 16)
        cute.make_rmem_tensor((4,), tt.Float32).store(t[1, None].load())

    assert accesses(copy, 0, 4) == ["load vector<4xf32> align 16"] * 2
    assert accesses(unknown, 0, 4) == ["load f32 align 4"] * 4


def test_an_offset_lowers_the_alignment() -> None:
    def copy(a: tt.Int64, i: tt.Int32) -> None:
        t = over(a, cute.make_layout((16,)), tt.Float32, 16)
        part = cute.make_tensor(t.iterator + i, cute.make_layout((4,)))
        cute.make_rmem_tensor((4,), tt.Float32).store(part.load())

    def static(a: tt.Int64) -> None:
        t = over(a, cute.make_layout((16,)), tt.Float32, 16)
        for start in tt.range_constexpr(1, 3):
            part = cute.make_tensor(t.iterator + start, cute.make_layout((4,)))
            cute.make_rmem_tensor((4,), tt.Float32).store(part.load())

    assert accesses(static, 0) == ["load f32 align 4"] * 4 + ["load vector<2xf32> align 8"] * 2
    assert set(accesses(copy, 0, 0)) == {"load f32 align 4"}


def test_a_promised_alignment_widens() -> None:
    def copy(a: tt.Int64, i: tt.Int32) -> None:
        start = over(a, cute.make_layout((16,))).iterator + i
        part = cute.make_tensor(start.align(16), cute.make_layout((4,)))
        cute.make_rmem_tensor((4,), tt.Float32).store(part.load())

    assert accesses(copy, 0, 0) == ["load vector<4xf32> align 16"]


def test_registers_are_read_at_once() -> None:
    def sum_(x: tt.Float32) -> Any:
        r = cute.make_rmem_tensor((16,), tt.Float32)
        r.fill(x)
        return r.load()[3]

    module = tt.compile(sum_, 1.0).mlir
    assert "llvm.load" in module
    assert module.count("llvm.load") == 1


SWIZZLED = ComposedLayout(Swizzle(2, 3, 3), 0, Layout((8, 16), (16, 1)))


def test_a_swizzled_row_is_read_in_the_blocks_that_stay_whole() -> None:
    def copy(a: tt.Int64, i: tt.Int32) -> None:
        row = over(a, SWIZZLED, tt.Float16, 16)[i, None]
        registers = cute.make_rmem_tensor((16,), tt.Float16)
        registers.store(row.load())

    assert accesses(copy, 0, 0) == ["load vector<8xf16> align 16"] * 2


def test_a_swizzled_layout_and_a_swizzled_pointer_are_the_same_memory() -> None:
    in_bytes = Swizzle(2, 4, 3)

    @tt.jit
    def both(a: tt.Int64, b: tt.Int64, i: tt.Int32, j: tt.Int32) -> Any:
        by_layout = over(a, SWIZZLED, tt.Float16, 16)
        pointer = cute.recast_ptr(over(b, cute.make_layout((128,)), tt.Float16, 128).iterator, in_bytes)
        by_pointer = cute.make_tensor(pointer, SWIZZLED.outer)
        for k in range(128):
            by_layout[k] = k
            by_pointer[k] = k
        registers = cute.make_rmem_tensor((16,), tt.Float16)
        registers.store(by_pointer[i, None].load())
        return by_pointer[i, j].to(tt.Float32), registers[j].to(tt.Float32), by_layout[i, j].to(tt.Float32)

    first, second = aligned(128, np.float16, 512), aligned(128, np.float16, 512)
    value = 5 + 8 * 9
    assert both(address(first), address(second), 5, 9) == (value, value, value)
    assert (first == second).all()
    assert first[int(SWIZZLED((5, 9)))] == value  # type: ignore[arg-type]  # an index


@pytest.mark.parametrize("base", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("stride", [16, 32, 64])
def test_no_more_alignment_is_claimed_than_a_swizzle_leaves(base: int, stride: int) -> None:
    """Pieces of `1 << base` bytes are moved, whatever the row before the swizzle is a multiple of. LLVM joins stores
    that claim more into instructions that fault."""

    def fill(a: tt.Int64, i: tt.Int32) -> None:
        pointer = cute.recast_ptr(over(a, cute.make_layout((4096,)), tt.Float16, 4096).iterator, Swizzle(2, base, 3))
        rows = cute.make_tensor(pointer, cute.make_layout((64, 16), stride=(stride, 1)))
        rows[i, None].fill(1.0)

    claimed = [int(access.rpartition(" ")[2]) for access in accesses(fill, 0, 0)]
    assert claimed
    assert max(claimed) <= 1 << base


def test_copies() -> None:
    @tt.jit
    def transpose(a: tt.Int64, b: tt.Int64, n: tt.Int32) -> None:
        source = over(a, cute.make_layout((8, 12), stride=(12, 1)))
        target = over(b, cute.make_layout((8, 12), stride=(1, 8)))
        cute.autovec_copy(source, target)
        one_row = cute.make_layout((n,))
        cute.basic_copy(cute.make_tensor(source.iterator, one_row), cute.make_tensor(target.iterator, one_row))

    source = np.arange(96, dtype=np.float32)
    target = np.zeros(96, np.float32)
    transpose(address(source), address(target), 3)
    expected = source.reshape(8, 12).T.ravel().copy()
    expected[:3] = source[:3]
    assert (target == expected).all()


def test_recast_is_the_same_memory() -> None:
    @tt.jit
    def halves(a: tt.Int64, i: tt.Int32) -> Any:
        words = over(a, cute.make_layout((4, 2), stride=(1, 4)), tt.Uint32)
        parts = cute.recast_tensor(words, tt.Uint16)
        assert parts.shape == (8, 2)
        return parts[i, 1], cute.recast_tensor(parts, tt.Uint32)[3, 0]

    words = np.arange(8, dtype=np.uint32) * 0x10001 + 5
    assert halves(address(words), 3) == (words.view(np.uint16)[8 + 3], words[3])
