"""Indices taken apart by size: whole stretches, what lies between, and the place inside a unit.

Input: a symbolic index, and powers of two. Output: the same index as a sum. What permutes units inside of stretches
leaves the first and the last part alone, so that indices which differ in those only share what is permuted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from triptych.layout.digits import digits, sum_of
from triptych.layout.integers import Int
from triptych.layout.symbolic import Monomial, Operation, SymInt


@dataclass(frozen=True, slots=True)
class Parts:
    """What an index is made of; constants that are added to it are only looked at when they are known."""

    index: Int
    whole: Int
    """Stretches of it."""
    small: Int
    """The digits that may lie below a unit."""
    reach: int
    """The most that they are together; a unit or more where nothing bounds them."""
    step: int
    """What all of the index is a multiple of, at most a unit."""
    unit: int
    stretch: int

    def moved(self, constant: int) -> tuple[Int, Int]:
        """(between, rest) of the index and a constant, whose sum it is: `rest` leaves what `between` becomes alone."""
        inside: Int = constant % self.step
        if constant % self.unit + self.reach < self.unit:
            inside = constant % self.unit + self.small
        rest = self.whole + constant // self.stretch * self.stretch + inside
        return self.index + constant - rest, rest


def parted(index: SymInt, unit: int, stretch: int) -> Parts:
    """The digits of a coordinate are looked at, each small and never negative, and not the quotients they come from."""
    terms = digits(index)
    small = tuple(term for term in terms if term[1] % unit)
    return Parts(
        index,
        whole=sum_of(tuple(term for term in terms if term[1] % stretch == 0)),
        small=sum_of(small),
        reach=sum(_largest(*term, unit) for term in small),
        step=math.gcd(unit, *(times for _, times in small)),
        unit=unit,
        stretch=stretch,
    )


def _largest(monomial: Monomial, times: int, unit: int) -> int:
    """The largest value of a term that is a digit; a whole unit for one that may be anything."""
    (atom, *others) = monomial
    if others or times < 0 or not isinstance(atom, Operation) or atom.name != "%":
        return unit
    return times * (atom.right - 1) if isinstance(atom.right, int) and atom.right > 0 else unit
