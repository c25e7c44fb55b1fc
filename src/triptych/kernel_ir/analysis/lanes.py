"""Lane analysis: how a value differs over the lanes of a warp, as a lattice with its arithmetic.

Pure Python, no MLIR.

A value with known differences is its value in lane 0 plus one number for each lane that is known now, and perhaps plus
known multiples of numbers that the block knows at run time (the rows of a matrix). Such a value costs one scalar at
run time, and memory addressed by it is read in runs. Everything else is just *varying*.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import IntEnum
from math import gcd

from triptych.ir.handles import Value
from triptych.support.dataclass import dataclass


class Level(IntEnum):
    """For which threads the value of lane 0 is the same."""

    BLOCK = 0
    WARP = 1
    LANE = 2


@dataclass(frozen=True, slots=True)
class Linear:
    """A number that has not wrapped around: multiples of values and a constant, and what it is at least and at most."""

    terms: tuple[tuple[Value, int], ...]
    constant: int
    low: int
    high: int

    def plus(self, other: Linear, sign: int) -> Linear:
        times = dict(self.terms)
        for value, count in other.terms:
            times[value] = times.get(value, 0) + sign * count
        terms = tuple((value, count) for value, count in times.items() if count)
        constant = self.constant + sign * other.constant
        if not terms:
            return exactly(constant)
        ends = (other.low, other.high) if sign > 0 else (-other.high, -other.low)
        return Linear(terms, constant, self.low + ends[0], self.high + ends[1])

    def scaled(self, times: int) -> Linear:
        low, high = sorted((self.low * times, self.high * times))
        terms = tuple((value, count * times) for value, count in self.terms if times)
        return Linear(terms, self.constant * times, low, high)

    def divided(self, by: int) -> Linear | None:
        """The quotient, if its remainder is that of the constant."""
        if any(count % by for _, count in self.terms):
            return None
        terms = tuple((value, count // by) for value, count in self.terms)
        return Linear(terms, self.constant // by, self.low // by, self.high // by)


def exactly(constant: int) -> Linear:
    return Linear((), constant, constant, constant)


@dataclass(frozen=True, slots=True)
class Lanes:
    """What is known of one value."""

    level: Level
    offsets: tuple[int, ...] | None = None
    """Differences from lane 0; None when they are known only at run time."""
    divisor: int = 1
    """A power of two that divides the value of lane 0 (so it does when the value wraps); 0 divides only 0."""
    constant: int | None = None
    multiples: tuple[tuple[Value, tuple[int, ...]], ...] = ()
    """Numbers that are the same for the block, and how many times each is added in every lane (0 in lane 0)."""
    linear: Linear | None = None
    """Lane 0 of other values; only where no lane has wrapped around. What cancels out in it is no part of lane 0."""

    @property
    def first(self) -> Linear | None:
        """Lane 0 as a sum."""
        return self.linear if self.constant is None else exactly(self.constant)

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """The value in every lane, where that is known now."""
        if self.constant is None or self.offsets is None or self.multiples:
            return None
        return tuple(self.constant + offset for offset in self.offsets)

    @property
    def uniform(self) -> bool:
        """Whether all lanes of a warp have the same value."""
        return self.offsets is not None and not any(self.offsets) and not self.multiples

    @property
    def known(self) -> bool:
        """Whether the value is one scalar and differences that need no other value of the lanes."""
        return self.offsets is not None

    @property
    def fixed(self) -> bool:
        """Whether the differences are numbers known now."""
        return self.offsets is not None and not self.multiples

    def has_stride(self, size: int) -> bool:
        """Whether every lane is `size` after the one before."""
        lanes = range(len(self.offsets or ()))
        return self.fixed and all(self.distance(lane, lane + 1) == size for lane in lanes[:-1])

    def distance(self, lane: int, other: int) -> int | None:
        """From one lane to another; None when only a run tells, and only for known differences."""
        if self.offsets is None or any(times[lane] != times[other] for _, times in self.multiples):
            return None
        return self.offsets[other] - self.offsets[lane]

    @property
    def span(self) -> int:
        """The largest difference; only for known differences."""
        return max(self.offsets or (0,))

    @property
    def aligned(self) -> bool:
        """Whether lane 0 is a multiple of a power of two above all differences: then adding them carries nowhere."""
        if self.offsets is None or self.multiples or min(self.offsets) < 0:
            return False
        return self.divisor == 0 or self.divisor > self.span

    def __str__(self) -> str:
        if self.constant is not None and self.uniform:
            return str(self.constant)
        name = self.level.name.lower()
        if self.offsets is None:
            return "varying"
        if self.uniform:
            return f"{name} uniform"
        if self.multiples:
            return f"{name} base + rows of run-time length"
        steps = {b - a for a, b in zip(self.offsets, self.offsets[1:], strict=False)}
        shape = f"lane*{steps.pop()}" if len(steps) == 1 else "known differences"
        return f"{name} base + {shape}"


VARYING = Lanes(Level.LANE)


def uniform(level: Level, width: int, divisor: int = 1, constant: int | None = None) -> Lanes:
    """The same in all lanes."""
    return known(level, (0,) * width, divisor, constant)


def known(
    level: Level,
    offsets: tuple[int, ...],
    divisor: int = 1,
    constant: int | None = None,
    linear: Linear | None = None,
) -> Lanes:
    """Lane 0 (`constant` if known, or `linear`) plus `offsets`, which begin with 0."""
    if linear is not None and not linear.terms:
        constant, linear = linear.constant, None
    return Lanes(level, offsets, _power_of_two_part(divisor if constant is None else constant), constant, (), linear)


def join(left: Lanes, right: Lanes) -> Lanes:
    """What holds of a value that is one or the other, the same choice in all lanes."""
    if left == right:
        return left
    if left.offsets is None or left.offsets != right.offsets or left.multiples or right.multiples:
        return VARYING
    level = max(left.level, right.level)
    return Lanes(level, left.offsets, gcd(left.divisor, right.divisor))


def _power_of_two_part(n: int) -> int:
    return n & -n


def _constant(left: Lanes, right: Lanes, operation: Callable[[int, int], int]) -> int | None:
    if left.constant is None or right.constant is None:
        return None
    return operation(left.constant, right.constant)


def add(left: Lanes, right: Lanes) -> Lanes:
    return _sum(left, right, 1)


def subtract(left: Lanes, right: Lanes) -> Lanes:
    return _sum(left, right, -1)


def _sum(left: Lanes, right: Lanes, sign: int) -> Lanes:
    if left.offsets is None or right.offsets is None:
        return VARYING
    offsets = tuple(a + sign * b for a, b in zip(left.offsets, right.offsets, strict=True))
    constant = _constant(left, right, lambda a, b: a + sign * b)
    one, other = left.first, right.first
    linear = one.plus(other, sign) if one is not None and other is not None else None
    found = known(max(left.level, right.level), offsets, gcd(left.divisor, right.divisor), constant, linear)
    if not left.multiples and not right.multiples:
        return found
    multiples = dict(left.multiples)
    for number, times in right.multiples:
        before = multiples.get(number, (0,) * len(times))
        multiples[number] = tuple(a + sign * b for a, b in zip(before, times, strict=True))
    kept = tuple((number, times) for number, times in multiples.items() if any(times))
    return Lanes(found.level, offsets, found.divisor, None, kept)


def multiply(left: Lanes, right: Lanes) -> Lanes:
    if left.uniform and not right.uniform:
        left, right = right, left
    if left.offsets is None or not right.uniform:
        return VARYING
    level = max(left.level, right.level)
    constant = _constant(left, right, lambda a, b: a * b)
    if right.constant is None and left.constant is not None and left.uniform:
        left, right = right, left
    times, divisor = right.constant, left.divisor * right.divisor
    linear = left.linear.scaled(times) if left.linear is not None and times is not None else None
    if left.uniform:
        return known(level, left.offsets or (), divisor, constant, linear)
    if times is None:
        return VARYING
    found = known(level, tuple(a * times for a in left.offsets or ()), divisor, constant, linear)
    if not left.multiples or times == 0:
        return found
    scaled = tuple((number, tuple(a * times for a in counts)) for number, counts in left.multiples)
    return Lanes(found.level, found.offsets, found.divisor, None, scaled)


def rows(left: Lanes, right: Lanes, length: Value) -> Lanes:
    """Known numbers times `length`, which is described by `right` and the same for the block."""
    if not left.fixed or left.uniform or not right.uniform or right.level != Level.BLOCK or right.constant is not None:
        return multiply(left, right)
    divisor = _power_of_two_part(left.divisor * right.divisor)
    return Lanes(left.level, (0,) * len(left.offsets or ()), divisor, None, ((length, left.offsets or ()),))


def divide_unsigned(left: Lanes, right: Lanes) -> Lanes:
    """Quotients of numbers that are not negative, by a constant unless everything is uniform."""
    level = max(left.level, right.level)
    c = _positive_constant(right)
    if left.uniform and right.uniform:
        constant = _constant(left, right, lambda a, b: a // b) if c and (left.constant or 0) >= 0 else None
        divisor = left.divisor // c if c and left.divisor % c == 0 else 1
        return known(level, left.offsets or (), divisor, constant, _quotient(left, c))
    if left.offsets is None or c is None:
        return VARYING
    linear = _quotient(left, c)
    if linear is not None and left.linear is not None:
        rest = left.linear.constant % c
        return known(level, tuple((rest + a) // c for a in left.offsets), linear=linear)
    if not left.aligned:
        return VARYING
    if left.divisor % c == 0:
        return known(level, tuple(a // c for a in left.offsets), left.divisor // c)
    if left.divisor and c % left.divisor == 0:
        return known(level, (0,) * len(left.offsets))
    return VARYING


def _quotient(value: Lanes, by: int | None) -> Linear | None:
    """Lane 0 of a quotient whose remainder is known there, where no lane is negative."""
    if by is None or value.linear is None or value.multiples or value.linear.low + min(value.offsets or (0,)) < 0:
        return None
    return value.linear.divided(by)


def remainder_unsigned(left: Lanes, right: Lanes) -> Lanes:
    """Remainders of numbers that are not negative, by a constant unless everything is uniform."""
    level = max(left.level, right.level)
    c = _positive_constant(right)
    if left.uniform and right.uniform:
        constant = _constant(left, right, lambda a, b: a % b) if c and (left.constant or 0) >= 0 else None
        if c and left.divisor % c == 0:
            constant = 0
        return known(level, left.offsets or (), gcd(left.divisor, right.divisor), constant)
    if left.offsets is None or c is None or not left.aligned:
        return VARYING
    if left.divisor % c == 0:
        return known(Level.BLOCK, tuple(a % c for a in left.offsets), 0, 0)
    if c % left.divisor == 0:
        return known(level, left.offsets, left.divisor)
    return VARYING


def _positive_constant(value: Lanes) -> int | None:
    """The constant that all lanes have; an unsigned number from the upper half of its type is kept as a negative one,
    of which neither quotients nor remainders tell anything."""
    return value.constant if value.uniform and value.constant is not None and value.constant > 0 else None


def shift_left(left: Lanes, right: Lanes) -> Lanes:
    if right.constant is None or not right.uniform or not 0 <= right.constant < 64:
        return _uniform_only(left, right)
    return multiply(left, uniform(Level.BLOCK, len(right.offsets or ()), constant=1 << right.constant))


def shift_right(left: Lanes, right: Lanes) -> Lanes:
    """Shifts of numbers that are not negative, or (arithmetic) of aligned ones: both are floor divisions."""
    if right.constant is None or not right.uniform or not 0 <= right.constant < 63:
        return _uniform_only(left, right)
    power = uniform(Level.BLOCK, len(right.offsets or ()), constant=1 << right.constant)
    return divide_unsigned(left, power)


def bitwise(operation: Callable[[int, int], int], left: Lanes, right: Lanes) -> Lanes:
    """`&`, `|`, `^` with numbers known now: the low bits of an aligned value are known in every lane."""
    level = max(left.level, right.level)
    if left.uniform and right.uniform:
        return known(level, left.offsets or (), constant=_constant(left, right, operation))
    if right.numbers is None:
        left, right = right, left
    if right.numbers is None or left.offsets is None:
        return VARYING
    if left.numbers is not None:
        found = tuple(map(operation, left.numbers, right.numbers))
        return known(level, tuple(number - found[0] for number in found), constant=found[0])
    if not left.aligned:
        return VARYING
    size = left.divisor or 1 << left.span.bit_length()
    high = {number // size for number in right.numbers}
    if len(high) > 1:
        return VARYING  # different lanes would change what is only known at run time
    found = tuple(operation(offset, number % size) for offset, number in zip(left.offsets, right.numbers, strict=True))
    offsets = tuple(number - found[0] for number in found)
    is_zero = operation is operator.and_ and high == {0} and found[0] == 0
    return known(Level.BLOCK, offsets, constant=0) if is_zero else known(level, offsets)


def _uniform_only(left: Lanes, right: Lanes) -> Lanes:
    return elementwise((left, right))


def elementwise(operands: tuple[Lanes, ...]) -> Lanes:
    """Any other operation: uniform when its operands are."""
    if not all(operand.uniform for operand in operands):
        return VARYING
    level = max((operand.level for operand in operands), default=Level.BLOCK)
    width = next((len(operand.offsets) for operand in operands if operand.offsets is not None), 0)
    return uniform(level, width)


def wrapped(source: Lanes, bits: int, from_bits: int | None = None) -> Lanes:
    """The value in an integer type of `bits`; with `from_bits`, first read as an unsigned number of so many."""
    if source.constant is None:
        return source
    constant = source.constant if from_bits is None else source.constant % (1 << from_bits)
    constant = (constant + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    return known(source.level, source.offsets or (), constant=constant)
