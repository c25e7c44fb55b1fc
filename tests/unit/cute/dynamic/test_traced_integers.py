"""Run-time numbers in the layout algebra: what they are there, and the operations their results become."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute, layout
from triptych.cute import checked_layouts, realize, traced_int
from triptych.diagnostics.runtime_errors import DivisionByZeroError, LayoutRequirementError
from triptych.layout import DeclarationError, Layout, SymInt, UndecidableError
from triptych.metastage.trace.errors import LeakedValueError, OperandTypeError

tl: Any = layout  # typed for dynamic integers too; the tests know which ones are static


def operations(function: Any, *arguments: Any) -> list[str]:
    """The names of the operations a function becomes, constants left out."""
    lines = tt.compile(function, *arguments).mlir.splitlines()
    names = [word for line in lines for word in line.split() if word.startswith(("arith.", "cf.", "scf."))]
    return [name for name in names if name != "arith.constant"]


def test_the_same_number_is_the_same_unknown() -> None:
    def difference(n: tt.Int32, m: tt.Int32) -> Any:
        assert traced_int(n) - traced_int(n) == 0
        assert traced_int(n) * traced_int(m) == traced_int(m) * traced_int(n)
        assert traced_int(n) != traced_int(m)
        return realize(tl.size(tl.coalesce(tl.make_layout((traced_int(n), traced_int(m))))))

    assert tt.compile(difference, 1, 1)(6, 7) == 42


def test_the_algebra_emits_nothing() -> None:
    def work(n: tt.Int32) -> Any:
        matrix = tl.make_layout((traced_int(n, lower=1), 8))
        tl.coalesce(tl.zipped_divide(matrix, (4, 4)))
        tl.right_inverse(matrix)
        return n

    assert operations(work, 1) == ["arith.cmpi", "cf.assert"]


def test_a_common_part_is_emitted_once() -> None:
    def tiles(m: tt.Int32, n: tt.Int32) -> Any:
        rows, columns = traced_int(m, lower=1), traced_int(n, lower=1)
        divided = tl.zipped_divide(tl.make_layout((rows, columns)), (8, 8))
        (_, rest), (_, steps) = realize(divided)
        return (*rest, *steps)

    found = operations(tiles, 1, 1)
    assert found.count("arith.divui") == 2
    assert tt.compile(tiles, 1, 1)(20, 30) == (3, 4, 8, 160)


def test_remainders_are_remainders() -> None:
    def index(i: tt.Uint32) -> Any:
        return realize(Layout((8, 4, 16), (64, 1, 4))(traced_int(i, upper=511)))

    assert operations(index, 1) == ["arith.cmpi", "cf.assert", "arith.divui", "arith.remui", "arith.muli", "arith.addi"]


def test_a_divisor_that_was_declared_is_not_divided_by() -> None:
    def size(n: tt.Int32) -> Any:
        return realize(traced_int(n, 4, lower=0, upper=1000) * 2)

    assert not [name for name in operations(size, 4) if "div" in name]
    assert tt.compile(size, 4)(12) == 24


def test_the_type_holds_every_value() -> None:
    def types(n: tt.Int32, w: tt.Int64) -> Any:
        small = traced_int(n, lower=0, upper=99)
        assert realize(small * 1000).dtype is tt.Int32
        assert realize(traced_int(n) // 3 % 8).dtype is tt.Int32
        assert realize(small * 2**26).dtype is tt.Int64
        assert realize(traced_int(n) * 2).dtype is tt.Int64
        assert realize(traced_int(w)).dtype is tt.Int64
        assert realize(traced_int(w) % 8).dtype is tt.Int32
        return n

    tt.compile(types, 1, 1)


BIG = Layout((2**20, 2**20), (2**20, 1))
CORNER = (2**20 - 1, 2**20 - 3)


@pytest.mark.parametrize("kind", [tt.Int32, tt.Int64, tt.Uint32])
def test_a_layout_beyond_32_bits(kind: Any) -> None:
    def index(row: Any, column: Any) -> Any:
        return realize(BIG((traced_int(row), traced_int(column))))

    assert tl.cosize(BIG) == 2**40
    assert tt.compile(index, kind(0), kind(0))(*CORNER) == BIG(CORNER) == 2**40 - 3


def test_an_integer_coordinate_beyond_32_bits() -> None:
    def both(i: tt.Int64) -> Any:
        composed = tl.composition(BIG, Layout(2, 2**39))
        return realize(BIG(traced_int(i))), realize(composed(traced_int(i, lower=0, upper=1)))

    function = tt.compile(both, 0)
    assert function(1) == (BIG(1), BIG(2**39))
    with pytest.raises(LayoutRequirementError, match="at most 1"):
        function(2**39)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_no_number_has_a_coordinate_in_an_empty_layout(rows: int) -> None:
    """Python's own arithmetic is the oracle: what it refuses is refused, also where no sign has to be cared for."""

    def index(rows: tt.Int32, i: tt.Int32) -> Any:
        return realize(Layout((traced_int(rows, lower=0), 8), (8, 1))(traced_int(i, lower=0)))

    function = tt.compile(index, 1, 0)
    for i in range(3 * rows + 1):
        try:
            expected = i % rows * 8 + i // rows
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError, match="empty layout"):
                function(rows, i)
        else:
            assert function(rows, i) == expected


@tt.kernel
def write_by_number(a: cute.Tensor) -> None:
    a[cute.arch.block_idx()[0]] = 1.0


@tt.jit
def written_by_number(a: cute.Tensor) -> None:
    write_by_number(a).launch(grid=2, block=1)


def test_an_empty_tensor_has_no_elements_to_write() -> None:
    full = np.zeros((3, 4), np.float32)
    function = tt.compile(written_by_number, full)
    function(full)
    assert full[:2, 0].tolist() == [1, 1]
    with pytest.raises(DivisionByZeroError, match="an extent of 0"):
        function(full[:0])
    assert full.sum() == 2


def test_run_time_strides_beyond_32_bits() -> None:
    def index(rows: tt.Int64, i: tt.Int32) -> Any:
        return realize(tl.make_layout((traced_int(rows), 8))((0, traced_int(i))))

    assert tt.compile(index, 1, 1)(2**33, 7) == 7 * 2**33


@pytest.mark.parametrize(
    ("declared", "good", "bad", "message"),
    [
        ({"divisibility": 4}, 12, 13, "a multiple of 4"),
        ({"lower": 1}, 1, 0, "at least 1"),
        ({"upper": 100}, 100, 101, "at most 100"),
    ],
)
def test_what_is_declared_is_checked(declared: dict[str, int], good: int, bad: int, message: str) -> None:
    def same(n: tt.Int32) -> Any:
        return realize(traced_int(n, **declared))

    function = tt.compile(same, 1)
    assert function(good) == good
    with pytest.raises(LayoutRequirementError, match=message) as raised:
        function(bad)
    assert isinstance(raised.value, ValueError)
    with pytest.raises(DeclarationError, match=message):
        traced_int(bad, **declared)
    assert traced_int(good, **declared) == good


def test_a_need_that_is_a_product_does_not_wrap_to_zero() -> None:
    """(a % d) * (d % a) is 2**33 * 2**31 here."""

    def divided(a: tt.Int64, d: tt.Int64) -> Any:
        with checked_layouts():
            return realize(tl.shape_div(traced_int(a), traced_int(d)))

    function = tt.compile(divided, 1, 1)
    assert function(2**33, 2**30) == 8
    with pytest.raises(LayoutRequirementError, match="shape_div"):
        function(2**33, 3 * 2**33 + 2**31)


def test_coalesce_of_run_time_extents() -> None:
    def modes(m: tt.Int32, n: tt.Int32) -> Any:
        merged = tl.coalesce(tl.make_layout((traced_int(m), traced_int(n))))
        assert (tl.depth(merged), merged.stride) == (0, 1)
        return realize(merged.shape)

    assert tt.compile(modes, 1, 1)(5, 6) == 30


def test_right_inverse_of_a_run_time_row_major_matrix() -> None:
    def coordinate(m: tt.Int32, n: tt.Int32, i: tt.Int32) -> Any:
        rows, columns = traced_int(m), traced_int(n)
        inverse = tl.right_inverse(Layout((rows, columns), (columns, 1)))
        return realize(inverse(traced_int(i)))

    static = tl.right_inverse(Layout((3, 5), (5, 1)))
    function = tt.compile(coordinate, 1, 1, 1)
    assert [function(3, 5, i) for i in range(15)] == [static(i) for i in range(15)]


def test_composition_with_run_time_extents_and_strides() -> None:
    def index(m: tt.Int32, step: tt.Int32, i: tt.Int32) -> Any:
        with checked_layouts() as needs:
            part = tl.composition(Layout((traced_int(m), 8), (traced_int(step), 1)), Layout((4, 2), (1, 4)))
        assert needs
        return realize(part(traced_int(i)))

    function = tt.compile(index, 1, 1, 1)
    for rows in (2, 4, 8):
        static = Layout((rows, 8), (100, 1))
        assert [function(rows, 100, i) for i in range(8)] == [static(i) for i in range(8)]
    with pytest.raises(LayoutRequirementError, match="composition"):
        function(3, 100, 0)


def test_undecided_needs_are_checked_at_run_time() -> None:
    def index(m: tt.Int32, i: tt.Int32) -> Any:
        return realize(tl.composition(Layout((traced_int(m), 8), (8, 1)), Layout(4, 1))(traced_int(i)))

    function = tt.compile(index, 1, 1)
    for rows in (1, 2, 4, 8, 64):
        static = tl.composition(Layout((rows, 8), (8, 1)), Layout(4, 1))
        assert [function(rows, i) for i in range(4)] == [static(i) for i in range(4)]
    with pytest.raises(LayoutRequirementError, match="extent 4 below or a multiple of"):
        function(3, 0)


def test_a_need_is_checked_once_where_it_is_known_to_hold() -> None:
    def column(m: tt.Int32) -> Any:
        return realize(tl.composition(Layout((traced_int(m), 8), (8, 1)), Layout(4, 1))(3))

    def columns(m: tt.Int32, n: tt.Int32) -> Any:
        total = column(m) + column(m)
        for _ in range(n):
            total += column(m)
        return total

    assert operations(columns, 1, 1).count("cf.assert") == operations(column, 1).count("cf.assert") > 0


def test_a_need_in_a_branch_is_none_of_the_other_branch() -> None:
    def index(m: tt.Int32, extent: tt.Constexpr[int]) -> Any:
        found = -1
        if m != 3:
            found = realize(tl.composition(Layout((traced_int(m), 8), (8, 1)), Layout(extent, 1))(3))
        return found

    function = tt.compile(index, 1, 4)
    assert (function(2), function(3)) == (9, -1)
    with pytest.raises(LayoutRequirementError, match="extent 8"):
        tt.compile(index, 1, 8)(6)


def test_an_unknown_that_is_no_number_is_refused() -> None:
    def index(m: tt.Int32) -> Any:
        return tl.composition(Layout((tl.sym_int(symbol="k"), traced_int(m)), (8, 1)), Layout(4, 1))

    with pytest.raises(UndecidableError, match="extent 4 below or a multiple of"):
        tt.compile(index, 1)


def test_numbers_known_now_stay_numbers() -> None:
    assert traced_int(8, 4) == 8
    assert traced_int(tt.Int32(8)) == 8
    assert realize(8) == 8
    assert realize((8, (2, 3))) == (8, (2, 3))
    with pytest.raises(DeclarationError):
        traced_int(8, 0)


def test_an_unknown_without_a_number_is_refused() -> None:
    with pytest.raises(UndecidableError, match="the unknown m has no run-time value"):
        realize(tl.sym_int(symbol="m") + 1)


@pytest.mark.parametrize("value", [tt.Float32(1.0), tt.Uint64(1), tt.Int128(1)])
def test_other_types_are_refused(value: Any) -> None:
    def same(n: tt.Int32) -> Any:
        return realize(traced_int(type(value)(n)))

    with pytest.raises(OperandTypeError, match="cannot be an integer of a layout"):
        tt.compile(same, 1)


def test_an_unknown_of_another_trace_is_refused() -> None:
    kept: list[Any] = []

    def keep(n: tt.Int32) -> Any:
        kept.append(traced_int(n))
        return n

    def use(n: tt.Int32) -> Any:
        assert kept[0] != traced_int(n)
        return realize(kept[0] + traced_int(n))

    with pytest.raises(LeakedValueError, match="outlives the call"):
        tt.compile(keep, 1)
    assert isinstance(kept[0], SymInt)
    with pytest.raises(LeakedValueError):
        tt.compile(use, 1)


def test_sides_of_32_bits_are_compared_in_32_bits() -> None:
    """The difference of two needs 33 bits; the two do not."""

    def inside(i: tt.Int32, n: tt.Int32) -> Any:
        digit: Any = traced_int(i, lower=0, upper=999) % 16 * 4
        return digit + 3 < traced_int(n)

    def beyond(i: tt.Int32, n: tt.Int32) -> Any:
        row: Any = traced_int(i) * 128
        return row + 3 < traced_int(n)

    assert "arith.extsi" not in operations(inside, 1, 1)
    assert "arith.extsi" in operations(beyond, 1, 1)


@pytest.mark.parametrize("n", [-(2**31), -(2**31) + 1, -4, 0, 3, 2**31 - 4, 2**31 - 1])
@pytest.mark.parametrize("i", [0, 1, 15, 17])
def test_comparisons_are_exact_where_differences_would_wrap(i: int, n: int) -> None:
    def answers(i: tt.Int32, n: tt.Int32) -> Any:
        digit: Any = traced_int(i, lower=0, upper=999) % 16 * 4
        bound: Any = traced_int(n)
        return (
            digit + 3 < bound,
            digit - 7 < bound,
            digit >= bound + 5,
            digit == bound - 8,
            bound - 1 > digit * bound,
            bound + 2 <= 2**31,
        )

    digit = i % 16 * 4
    expected = (digit + 3 < n, digit - 7 < n, digit >= n + 5, digit == n - 8, n - 1 > digit * n, n + 2 <= 2**31)
    assert tt.compile(answers, 1, 1)(i, n) == expected


def test_threads_are_as_many_as_the_launch_says() -> None:
    """What is computed from the number of a thread fits in 32 bits, if the block is small enough."""

    @tt.kernel
    def threads() -> None:
        thread, _, _ = cute.arch.thread_idx()
        width, _, _ = cute.arch.block_dim()
        block, _, _ = cute.arch.block_idx()
        assert realize(traced_int(thread) * 2**24).dtype is tt.Int32
        assert realize(traced_int(thread) * 2**25).dtype is tt.Int64
        assert realize(traced_int(width) * 2**23).dtype is tt.Int32
        assert realize(traced_int(width) * 2**24).dtype is tt.Int64
        assert realize(traced_int(cute.arch.lane_idx()) * 2**26).dtype is tt.Int32
        assert realize(traced_int(block) * 2).dtype is tt.Int64

    @tt.jit
    def launched() -> None:
        threads().launch(grid=1, block=128)

    tt.compile(launched)
