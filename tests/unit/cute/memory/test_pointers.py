"""Pointers: their arithmetic, what is known of their alignment, and the addresses they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.array_memory import GMEM, address
from triptych import cute
from triptych.cute.tracing.errors import PointerError
from triptych.metastage.trace.errors import LeakedValueError

NUMBERS = np.arange(16, dtype=np.float32)


def test_an_address_counts_bytes_and_an_offset_elements() -> None:
    @tt.jit
    def distances(a: tt.Int64, n: tt.Int32) -> Any:
        p = cute.make_ptr(tt.Float64, a, GMEM)
        q = cute.recast_ptr(p, dtype=tt.Int16)
        return (p + 3).toint() - a, (p + n).toint() - a, (n + q).toint() - a, (p - 1).toint() - a

    assert distances(4096, 5) == (24, 40, 10, -8)


@pytest.mark.parametrize(
    ("offset", "expected"), [(0, 16), (1, 4), (2, 8), (3, 4), (4, 16), (8, 16), (-2, 8)], ids=lambda value: str(value)
)
def test_an_offset_keeps_what_can_be_proven_of_the_alignment(offset: int, expected: int) -> None:
    @tt.jit
    def alignment(a: tt.Int64) -> None:
        p = cute.make_ptr(tt.Float32, a, GMEM, assumed_align=16) + offset
        assert p.alignment == expected

    alignment(0)


def test_a_declared_multiple_keeps_the_alignment() -> None:
    @tt.jit
    def alignment(a: tt.Int64, n: tt.Int32) -> None:
        p = cute.make_ptr(tt.Float32, a, GMEM, assumed_align=16)
        assert (p + n).alignment == 4
        assert (p + cute.assume(n, 4)).alignment == 16
        assert (p + n).align(8).alignment == 8
        assert p.align(8).alignment == 16
        assert cute.make_ptr(tt.Int8, a).alignment == 1

    alignment(0, 4)


def test_an_offset_beyond_32_bits() -> None:
    @tt.jit
    def far(a: tt.Int64, n: tt.Int32) -> Any:
        p = cute.make_ptr(tt.Int64, a, GMEM)
        return (p + n * 1).toint(), (p + 2**32).toint(), (p + tt.Int64(2**33)).toint()

    assert far(8, 2**31 - 1) == (8 + 8 * (2**31 - 1), 8 + 2**35, 8 + 2**36)


def test_a_pointer_to_parts_of_bytes_stays_at_whole_bytes() -> None:
    @tt.jit
    def move(a: tt.Int64, n: tt.Int32) -> Any:
        p = cute.make_ptr(tt.Float4E2M1FN, a, GMEM)
        six = cute.make_ptr(tt.Float6E2M3FN, a, GMEM)
        return (p + 6).toint(), (p + cute.assume(n, 2)).toint(), (six + 8).toint()

    assert move(100, 8) == (103, 104, 106)

    @tt.jit
    def odd(a: tt.Int64, n: tt.Int32) -> Any:
        return (cute.make_ptr(tt.Float4E2M1FN, a, GMEM) + n).toint()

    with pytest.raises(PointerError, match="whole byte"):
        odd(100, 2)


@pytest.mark.parametrize("alignment", [0, 3, -4])
def test_an_alignment_is_a_power_of_two(alignment: int) -> None:
    @tt.jit
    def align(a: tt.Int64) -> None:
        cute.make_ptr(tt.Float32, a).align(alignment)

    with pytest.raises(PointerError, match="power of two"):
        align(0)


def test_a_pointer_reads_and_writes_its_element() -> None:
    @tt.jit
    def swap(a: tt.Int64, i: tt.Int32, j: tt.Int32) -> Any:
        p = cute.make_ptr(tt.Float32, a, GMEM)
        first, second = (p + i).load(), (p + j).load()
        (p + i).store(second)
        (p + j).store(first)
        assert p.llvm_ptr == p.ir_value()
        return first + second

    numbers = np.arange(8, dtype=np.float32)
    assert swap(address(numbers), 2, 5) == 7.0
    assert numbers.tolist() == [0, 1, 5, 3, 4, 2, 6, 7]


def test_a_pointer_does_not_outlive_its_function() -> None:
    kept: list[Any] = []

    @tt.jit
    def keep(a: tt.Int64) -> None:
        kept.append(cute.make_ptr(tt.Float32, a))

    @tt.jit
    def use() -> Any:
        return kept[0].toint()

    with pytest.raises(LeakedValueError, match="outlives the call"):
        keep(0)
    with pytest.raises(LeakedValueError, match="Pointer"):
        use()


def test_there_are_no_pointers_outside_a_function() -> None:
    with pytest.raises(LeakedValueError, match="while a function is traced"):
        cute.make_ptr(tt.Float32, 0)


def test_a_pointer_that_is_recast_has_the_swizzle_that_is_given_and_no_other() -> None:
    @tt.jit
    def recast(a: tt.Int64) -> Any:
        swizzled = cute.recast_ptr(cute.make_ptr(tt.Float16, a, GMEM, assumed_align=32), cute.make_swizzle(3, 4, 3))
        plain, bits = cute.recast_ptr(swizzled + 64, swizzle_=None), cute.recast_ptr(swizzled, dtype=tt.Uint16)
        assert str(plain) == "ptr<Float16, gmem, align<32>>"
        assert str(bits) == "ptr<Uint16, gmem, align<32>>"
        return plain.toint() - a, bits.toint() - a

    assert recast(4096) == (128, 0)


def test_a_pointer_shows_what_is_known_of_it() -> None:
    @tt.jit
    def show(a: tt.Int64) -> None:
        p = cute.make_ptr(tt.Float16, a, GMEM, assumed_align=32)
        assert str(p) == "ptr<Float16, gmem, align<32>>"
        assert str(cute.recast_ptr(p, cute.make_swizzle(3, 4, 3))) == "ptr<Float16, gmem, align<32>, S<3,4,3>>"
        assert (p.dtype, p.memspace) == (tt.Float16, GMEM)

    show(address(NUMBERS))
