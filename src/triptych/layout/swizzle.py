"""Swizzles: XOR one field of index bits into another, to spread neighbours over memory banks.

Input: the field width, the number of low bits left alone, and the distance between the two fields.
Output: a permutation of indices that keeps every aligned block in place. A symbolic index is split by size first:
indices that differ in whole blocks, or in the place inside a unit, only share what is permuted.
"""

from __future__ import annotations

import math
from typing import overload

from triptych.layout.errors import SwizzleError
from triptych.layout.integers import Int
from triptych.layout.mixed_radix import constant_and_rest, digits, sum_of
from triptych.layout.number_operators import answer_in_numbers
from triptych.layout.symbolic import Monomial, Operation, SymInt
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SwizzleSplit:
    """What an index is made of; constants that are added to it are only looked at when they are known."""

    index: Int
    whole: Int
    """Blocks of it."""
    small: Int
    """The digits that may lie below a unit."""
    reach: int
    """The most that they are together; a unit or more where nothing bounds them."""
    step: int
    """What all of the index is a multiple of, at most a unit."""
    unit: int
    block: int

    def moved(self, constant: int) -> tuple[Int, Int]:
        """(between, rest) of the index and a constant, whose sum it is: `rest` leaves what `between` becomes alone."""
        inside: Int = constant % self.step
        if constant % self.unit + self.reach < self.unit:
            inside = constant % self.unit + self.small
        rest = self.whole + constant // self.block * self.block + inside
        return self.index + constant - rest, rest


def swizzle_split(index: SymInt, unit: int, block: int) -> SwizzleSplit:
    """The digits of a coordinate are looked at, each small and never negative, and not the quotients they come from."""
    terms = digits(index)
    small = tuple(term for term in terms if term[1] % unit)
    return SwizzleSplit(
        index,
        whole=sum_of(tuple(term for term in terms if term[1] % block == 0)),
        small=sum_of(small),
        reach=sum(_largest(*term, unit) for term in small),
        step=math.gcd(unit, *(times for _, times in small)),
        unit=unit,
        block=block,
    )


def _largest(monomial: Monomial, times: int, unit: int) -> int:
    """The largest value of a term that is a digit; a whole unit for one that may be anything."""
    (atom, *others) = monomial
    if others or times < 0 or not isinstance(atom, Operation) or atom.name != "%":
        return unit
    return times * (atom.right - 1) if isinstance(atom.right, int) and atom.right > 0 else unit


@dataclass(frozen=True, slots=True)
class Swizzle:
    """`bits` wide field at `base + shift` is XORed into the field at `base` (the other way when shift < 0)."""

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0 or abs(self.shift) < self.bits:
            raise SwizzleError(
                "the two bit fields of a swizzle must not overlap",
                found=f"S<{self.bits},{self.base},{self.shift}>",
                expected="bits >= 0, base >= 0 and |shift| >= bits",
            )

    @property
    def num_bits(self) -> int:
        """The width of the two fields."""
        return self.bits

    @property
    def num_base(self) -> int:
        """How many low bits are left alone."""
        return self.base

    @property
    def num_shift(self) -> int:
        """The distance between the fields."""
        return self.shift

    @property
    def is_static(self) -> bool:
        """A swizzle is always known now."""
        return True

    @overload
    def __call__(self, index: int) -> int: ...
    @overload
    def __call__(self, index: Int) -> Int: ...
    def __call__(self, index: Int) -> Int:
        permuted: Int = self._permuted(index) if isinstance(index, int) else answer_in_numbers(self._permuted, index)
        return permuted

    def _permuted(self, index: Int) -> Int:
        rest, added = self.split(index)
        source = ((1 << self.bits) - 1) << (self.base + max(self.shift, 0))
        field = rest & source
        return (rest ^ (field >> self.shift if self.shift >= 0 else field << -self.shift)) + added

    def split(self, index: Int) -> tuple[Int, Int]:
        """A symbolic index as what is permuted and what is only added: whole blocks, and places inside a unit."""
        if not isinstance(index, SymInt):
            return index, 0
        constant, computed = constant_and_rest(index)
        return self.parts(computed).moved(constant)

    def parts(self, index: SymInt) -> SwizzleSplit:
        """What the parts of all indices are made of that differ by a constant from this one, which has none."""
        return swizzle_split(index, 1 << self.base, 1 << (self.base + abs(self.shift) + self.bits))

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"


def make_swizzle(b: int, m: int, s: int) -> Swizzle:
    """The swizzle S<b,m,s>."""
    return Swizzle(b, m, s)


def recast_swizzle(swizzle: Swizzle, new_bits: int, old_bits: int) -> Swizzle:
    """The same permutation of memory, seen in elements of another size; both sizes are powers of two apart."""
    if new_bits == old_bits or swizzle.bits == 0:
        return swizzle
    small, large = sorted((new_bits, old_bits))
    step = (large // small).bit_length() - 1
    if large != small << step:
        raise SwizzleError(
            "a swizzle is recast by powers of two", found=f"{swizzle} from {old_bits} to {new_bits} bits"
        )
    base = swizzle.base + (step if new_bits < old_bits else -step)
    if base < 0:
        raise SwizzleError(
            "the swizzle moves parts of the larger element",
            found=f"{swizzle} to {new_bits} bits",
            expected=f"at least {step} untouched low bits",
        )
    return Swizzle(swizzle.bits, base, swizzle.shift)
