"""`simt.lanes`: the exact claim of each operation of the lattice, at and beside every boundary."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from triptych.kernel_ir.analysis import lanes as lattice
from triptych.kernel_ir.analysis.lanes import VARYING, Lanes, Level, Linear, known, uniform

WIDTH = 4
BLOCK, WARP, LANE = Level
STEPS = (0, 1, 2, 3)
N: Any
M: Any
X: Any
N, M, X = "n", "m", "x"
"""Stand for values of a kernel."""
ROWS = Lanes(BLOCK, (0, 0, 0, 0), 4, None, ((N, STEPS),))
"""The number of a lane times a number of the run."""


def one(level: Level = BLOCK, divisor: int = 1) -> Lanes:
    return uniform(level, WIDTH, divisor)


def number(value: int) -> Lanes:
    return uniform(BLOCK, WIDTH, constant=value)


def numbered(value: int, offsets: tuple[int, ...]) -> Lanes:
    return known(BLOCK, offsets, constant=value)


def stepped(divisor: int = 1, offsets: tuple[int, ...] = STEPS, level: Level = WARP) -> Lanes:
    return known(level, offsets, divisor)


def of(times: int, constant: int = 0, offsets: tuple[int, ...] = STEPS, high: int = 9) -> Lanes:
    """So many times N, which is not negative, and more."""
    return known(WARP, offsets, linear=Linear(((N, times),), constant, constant, times * high + constant))


# values -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "is_uniform", "is_known", "is_fixed", "is_aligned", "said"),
    [
        (VARYING, False, False, False, False, "varying"),
        (number(7), True, True, True, True, "7"),
        (one(WARP), True, True, True, True, "warp uniform"),
        (stepped(4), False, True, True, True, "warp base + lane*1"),
        (stepped(3), False, True, True, False, "warp base + lane*1"),
        (stepped(2), False, True, True, False, "warp base + lane*1"),
        (stepped(4, (0, 4, 8, 12)), False, True, True, False, "warp base + lane*4"),
        (stepped(8, (0, 1, 1, 2), BLOCK), False, True, True, True, "block base + known differences"),
        (stepped(8, (0, -1, 1, 2)), False, True, True, False, "warp base + known differences"),
        (stepped(0), False, True, True, True, "warp base + lane*1"),
        (ROWS, False, True, False, False, "block base + rows of run-time length"),
        (known(BLOCK, STEPS, constant=0), False, True, True, True, "block base + lane*1"),
    ],
)
def test_what_is_known(
    value: Lanes, is_uniform: bool, is_known: bool, is_fixed: bool, is_aligned: bool, said: str
) -> None:
    assert (value.uniform, value.known, value.fixed, value.aligned) == (is_uniform, is_known, is_fixed, is_aligned)
    assert str(value) == said


def test_the_divisor_is_a_power_of_two() -> None:
    assert [known(BLOCK, STEPS, n).divisor for n in (0, 1, 2, 3, 4, 6, 12, 48)] == [0, 1, 2, 1, 4, 2, 4, 16]
    assert [number(n).divisor for n in (0, 5, 6, -8)] == [0, 1, 2, 8]
    assert known(BLOCK, STEPS, 4, constant=6).divisor == 2


def test_the_span() -> None:
    assert stepped().span == 3
    assert stepped(offsets=(0, -5, -1, 0)).span == 0
    assert VARYING.span == 0


# one or the other ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        (number(3), number(3), number(3)),
        (number(4), number(6), one(BLOCK, 2)),
        (one(BLOCK, 4), one(WARP, 6), one(WARP, 2)),
        (stepped(8), stepped(4), stepped(4)),
        (stepped(8), stepped(0), stepped(8)),
        (stepped(), one(), VARYING),
        (stepped(), VARYING, VARYING),
        (VARYING, VARYING, VARYING),
        (ROWS, ROWS, ROWS),
        (ROWS, one(BLOCK, 4), VARYING),
        (one(BLOCK, 4), ROWS, VARYING),
    ],
)
def test_join(left: Lanes, right: Lanes, found: Lanes) -> None:
    assert lattice.join(left, right) == found


# sums and products --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        (number(7), number(3), number(10), number(4)),
        (stepped(8), number(4), stepped(4), stepped(4)),
        (stepped(8), stepped(2, (0, 2, 2, 2)), stepped(2, (0, 3, 4, 5)), stepped(2, (0, -1, 0, 1))),
        (one(BLOCK, 2), one(WARP, 4), one(WARP, 2), one(WARP, 2)),
        (VARYING, number(1), VARYING, VARYING),
        (number(1), VARYING, VARYING, VARYING),
        (one(BLOCK, 4), one(BLOCK, 0), one(BLOCK, 4), one(BLOCK, 4)),
    ],
)
def test_sums(left: Lanes, right: Lanes, total: Lanes, difference: Lanes) -> None:
    assert lattice.add(left, right) == total
    assert lattice.subtract(left, right) == difference


def test_sums_of_rows() -> None:
    assert lattice.add(ROWS, number(2)) == Lanes(BLOCK, (0, 0, 0, 0), 2, None, ((N, STEPS),))
    assert lattice.add(stepped(4), ROWS) == Lanes(WARP, STEPS, 4, None, ((N, STEPS),))
    assert lattice.add(ROWS, ROWS) == Lanes(BLOCK, (0, 0, 0, 0), 4, None, ((N, (0, 2, 4, 6)),))
    assert lattice.subtract(one(), ROWS).multiples == ((N, (0, -1, -2, -3)),)
    assert lattice.subtract(ROWS, ROWS) == Lanes(BLOCK, (0, 0, 0, 0), 4)
    other = Lanes(BLOCK, (0, 0, 0, 0), 4, None, ((M, (0, 5, 5, 5)),))
    assert lattice.add(ROWS, other).multiples == ((N, STEPS), (M, (0, 5, 5, 5)))


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        (number(6), number(7), number(42)),
        (one(BLOCK, 2), one(WARP, 4), one(WARP, 8)),
        (stepped(4), number(3), stepped(4, (0, 3, 6, 9))),
        (number(2), stepped(4), stepped(8, (0, 2, 4, 6))),
        (stepped(4), number(0), stepped(0, (0, 0, 0, 0))),
        (stepped(4), one(), VARYING),
        (one(), stepped(4), VARYING),
        (stepped(), stepped(), VARYING),
        (VARYING, number(2), VARYING),
        (number(2), VARYING, VARYING),
        (ROWS, number(0), uniform(BLOCK, WIDTH, 0)),
        (ROWS, number(3), Lanes(BLOCK, (0, 0, 0, 0), 4, None, ((N, (0, 3, 6, 9)),))),
        (ROWS, one(), VARYING),
        (known(BLOCK, STEPS, constant=2), number(3), known(BLOCK, (0, 3, 6, 9), constant=6)),
    ],
)
def test_products(left: Lanes, right: Lanes, found: Lanes) -> None:
    assert lattice.multiply(left, right) == found


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        (stepped(4), one(BLOCK, 2), Lanes(WARP, (0, 0, 0, 0), 8, None, ((X, STEPS),))),
        (stepped(4), one(WARP), VARYING),
        (stepped(4), number(2), stepped(8, (0, 2, 4, 6))),
        (stepped(4), stepped(4), VARYING),
        (one(WARP), one(BLOCK), one(WARP)),
        (ROWS, one(BLOCK), VARYING),
        (VARYING, one(BLOCK), VARYING),
    ],
)
def test_rows(left: Lanes, right: Lanes, found: Lanes) -> None:
    assert lattice.rows(left, right, X) == found


# quotients ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("left", "right", "quotient", "remainder"),
    [
        (number(17), number(5), number(3), number(2)),
        (number(16), number(4), number(4), number(0)),
        (number(0), number(5), number(0), number(0)),
        (number(-1), number(5), one(), one()),
        (number(7), number(0), one(), one(BLOCK, 1)),
        (number(7), number(-1), one(), one()),
        (one(WARP, 8), number(4), one(WARP, 2), uniform(WARP, WIDTH, constant=0)),
        (one(WARP, 8), number(1), one(WARP, 8), uniform(WARP, WIDTH, constant=0)),
        (one(WARP, 4), number(8), one(WARP), one(WARP, 4)),
        (one(WARP, 4), number(6), one(WARP), one(WARP, 2)),
        (one(BLOCK, 4), one(WARP, 2), one(WARP), one(WARP, 2)),
        (stepped(4), number(2), stepped(2, (0, 0, 1, 1)), known(BLOCK, (0, 1, 0, 1), constant=0)),
        (stepped(4), number(4), stepped(1, (0, 0, 0, 0)), known(BLOCK, STEPS, constant=0)),
        (stepped(4), number(8), stepped(1, (0, 0, 0, 0)), stepped(4)),
        (stepped(4), number(3), VARYING, VARYING),
        (stepped(4), number(1), stepped(4), known(BLOCK, (0, 0, 0, 0), constant=0)),
        (stepped(0), number(3), known(WARP, (0, 0, 0, 1), 0), known(BLOCK, (0, 1, 2, 0), constant=0)),
        (stepped(2), number(2), VARYING, VARYING),
        (stepped(4), one(), VARYING, VARYING),
        (stepped(4), number(0), VARYING, VARYING),
        (VARYING, number(2), VARYING, VARYING),
        (one(), VARYING, VARYING, VARYING),
        (one(), stepped(4), VARYING, VARYING),
    ],
)
def test_quotients(left: Lanes, right: Lanes, quotient: Lanes, remainder: Lanes) -> None:
    assert lattice.divide_unsigned(left, right) == quotient
    assert lattice.remainder_unsigned(left, right) == remainder


@pytest.mark.parametrize(
    ("left", "by", "found"),
    [
        (of(12), 4, of(3, 0, (0, 0, 0, 0))),
        (of(12, 2), 4, of(3, 0, (0, 0, 1, 1))),
        (of(12, 6), 4, of(3, 1, (0, 0, 1, 1))),
        (of(12, 0, (0, 5, -1, 0)), 4, VARYING),  # a lane may be negative
        (of(6), 4, VARYING),
    ],
)
def test_quotients_of_sums(left: Lanes, by: int, found: Lanes) -> None:
    assert lattice.divide_unsigned(left, number(by)) == found


def test_what_cancels_out_is_no_part_of_a_sum() -> None:
    rest = lattice.subtract(lattice.divide_unsigned(of(136, 2), number(8)), of(17, offsets=(0,) * WIDTH))
    assert rest == known(WARP, (0, 0, 0, 0), constant=0)
    assert lattice.add(of(2), of(3, 1)) == of(5, 1, (0, 2, 4, 6))
    assert lattice.multiply(of(2), number(-1)).linear == Linear(((N, -2),), 0, -18, 0)
    assert lattice.add(of(2), one()).linear is None


# bits ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("left", "count", "found"),
    [
        (stepped(4), number(0), stepped(4)),
        (stepped(4), number(2), stepped(16, (0, 4, 8, 12))),
        (number(3), number(63), number(3 << 63)),
        (number(3), number(64), one()),
        (number(3), number(-1), one()),
        (stepped(4), number(64), VARYING),
        (stepped(4), one(), VARYING),
        (one(WARP), one(), one(WARP)),
        (one(), stepped(), VARYING),
        (stepped(4), known(BLOCK, STEPS, constant=1), VARYING),
    ],
)
def test_left_shifts(left: Lanes, count: Lanes, found: Lanes) -> None:
    assert lattice.shift_left(left, count) == found


@pytest.mark.parametrize(
    ("left", "count", "found"),
    [
        (stepped(4), number(0), stepped(4)),
        (stepped(4), number(1), stepped(2, (0, 0, 1, 1))),
        (number(12), number(2), number(3)),
        (number(1 << 62), number(62), number(1)),
        (number(1 << 62), number(63), one()),
        (number(12), number(-1), one()),
        (stepped(4), number(63), VARYING),
        (one(WARP), one(), one(WARP)),
        (stepped(4), one(), VARYING),
        (stepped(4), known(BLOCK, STEPS, constant=1), VARYING),
    ],
)
def test_right_shifts(left: Lanes, count: Lanes, found: Lanes) -> None:
    assert lattice.shift_right(left, count) == found


@pytest.mark.parametrize(
    ("operation", "left", "right", "found"),
    [
        (operator.and_, number(12), number(10), number(8)),
        (operator.or_, number(12), number(10), number(14)),
        (operator.and_, one(WARP), number(10), one(WARP)),
        (operator.and_, stepped(4), number(1), known(BLOCK, (0, 1, 0, 1), constant=0)),
        (operator.and_, number(1), stepped(4), known(BLOCK, (0, 1, 0, 1), constant=0)),
        (operator.and_, stepped(4), number(6), stepped(1, (0, 0, 2, 2))),
        (operator.xor, stepped(4), number(1), stepped(1, (0, -1, 2, 1))),
        (operator.or_, stepped(4), number(5), stepped(1, (0, 0, 2, 2))),
        (operator.xor, known(BLOCK, STEPS, constant=0), number(2), known(BLOCK, (0, 1, -2, -1), constant=2)),
        (operator.xor, known(BLOCK, STEPS, constant=0), number(4), known(BLOCK, STEPS, constant=4)),
        (operator.and_, stepped(2), number(1), VARYING),
        (operator.and_, stepped(4), one(), VARYING),
        (operator.and_, stepped(4), stepped(4), VARYING),
        (operator.and_, VARYING, number(1), VARYING),
        (operator.and_, stepped(4), known(BLOCK, STEPS, constant=0), known(BLOCK, STEPS, constant=0)),
        (operator.xor, stepped(4), known(BLOCK, (0, 2, 1, 3), constant=0), stepped(1, (0, 3, 3, 0))),
        (operator.xor, stepped(4), known(BLOCK, (0, 2, 4, 6), constant=0), VARYING),
        (operator.xor, numbered(1, STEPS), numbered(2, (0, 1, 0, 1)), numbered(3, (0, -2, -2, 4))),
    ],
)
def test_bits(operation: Any, left: Lanes, right: Lanes, found: Lanes) -> None:
    assert lattice.bitwise(operation, left, right) == found


# anything else ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("operands", "found"),
    [
        ((one(BLOCK, 4), one(WARP, 4)), one(WARP)),
        ((number(3),), one()),
        ((one(), stepped()), VARYING),
        ((VARYING,), VARYING),
        ((), uniform(BLOCK, 0)),
    ],
)
def test_elementwise(operands: tuple[Lanes, ...], found: Lanes) -> None:
    assert lattice.elementwise(operands) == found


@pytest.mark.parametrize(
    ("value", "bits", "from_bits", "found"),
    [
        (127, 8, None, 127),
        (128, 8, None, -128),
        (-128, 8, None, -128),
        (-129, 8, None, 127),
        (256, 8, None, 0),
        (-1, 64, 32, 2**32 - 1),
        (-1, 64, 8, 255),
        (5, 64, 8, 5),
        (-1, 8, 8, -1),
    ],
)
def test_types_wrap(value: int, bits: int, from_bits: int | None, found: int) -> None:
    assert lattice.wrapped(number(value), bits, from_bits) == number(found)
    assert lattice.wrapped(stepped(4), bits, from_bits) == stepped(4)
