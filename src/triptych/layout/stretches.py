"""Indices taken apart by size: whole stretches, what lies between, and the place inside a unit.

Input: a symbolic index, and powers of two. Output: the same index as a sum. What permutes units inside of stretches
leaves the first and the last part alone, so that indices which differ in those only share what is permuted.
"""

from __future__ import annotations

import math

from triptych.layout.digits import digits, sum_of
from triptych.layout.integers import Int
from triptych.layout.symbolic import Monomial, Operation, SymInt


def parted(index: SymInt, unit: int, stretch: int) -> tuple[Int, Int]:
    """(between, rest): `between` is a multiple of what `rest` is below, apart from the stretches that `rest` has, too.

    The digits of a coordinate are looked at, each small and never negative, and not the quotients they are made from.
    """
    terms = dict(digits(index))
    constant = terms.pop((), 0)
    whole = sum_of(tuple(term for term in terms.items() if term[1] % stretch == 0))
    small = tuple(term for term in terms.items() if term[1] % unit)
    if constant % unit + sum(_largest(*term, unit) for term in small) < unit:
        inside = constant % unit + sum_of(small)
    else:  # what is a multiple of a smaller unit together leaves only its constant inside
        inside = constant % math.gcd(unit, *(times for _, times in small))
    rest = whole + constant // stretch * stretch + inside
    return index - rest, rest


def _largest(monomial: Monomial, times: int, unit: int) -> int:
    """The largest value of a term that is a digit; a whole unit for one that may be anything."""
    (atom, *others) = monomial
    if others or times < 0 or not isinstance(atom, Operation) or atom.name != "%":
        return unit
    return times * (atom.right - 1) if isinstance(atom.right, int) and atom.right > 0 else unit
