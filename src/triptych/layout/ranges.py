"""Value ranges of symbolic integers, so that a machine integer can be chosen that holds them.

Input: a symbolic integer and the range of every unknown. Output: the smallest and the largest value, or numbers beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from triptych.layout.integers import Int
from triptych.layout.mixed_radix import digits
from triptych.layout.symbolic import Atom, Operation, Symbol, SymInt, Terms

Range: TypeAlias = tuple[int, int]
SymbolRange: TypeAlias = Callable[[Symbol], Range]
"""The range of an unknown; the caller's value is `divisor` times it."""


class Ranges:
    """Ranges of values over the same unknowns; what values share is looked at once."""

    def __init__(self, of_symbol: SymbolRange) -> None:
        self._of_symbol = of_symbol
        self._operations: dict[Operation, Range] = {}

    def of(self, value: Int) -> Range:
        """The smallest and the largest number the value may be."""
        if isinstance(value, SymInt):
            return self.of_terms(digits(value))
        assert isinstance(value, int), value
        return value, value

    def of_terms(self, terms: Terms) -> Range:
        """The range of a sum of products."""
        low = high = 0
        for monomial, coefficient in terms:
            term = (coefficient, coefficient)
            for atom in monomial:
                term = _product(term, self.of_atom(atom))
            low, high = low + term[0], high + term[1]
        return low, high

    def of_atom(self, atom: Atom) -> Range:
        """The range of one factor."""
        if isinstance(atom, Symbol):
            return self._of_symbol(atom)
        if atom not in self._operations:
            self._operations[atom] = _OPERATIONS[atom.name](self.of(atom.left), self.of(atom.right))
        return self._operations[atom]


def _product(a: Range, b: Range) -> Range:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _quotient(a: Range, b: Range) -> Range:
    if b[0] >= 0:  # nothing is divided by zero: the run-time check stops before
        corners = [x // max(y, 1) for x in a for y in b]
        return min(corners), max(corners)
    largest = max(abs(a[0]), abs(a[1]))
    return -largest, largest


def _remainder(a: Range, b: Range) -> Range:
    if a[0] >= 0 and b[0] >= 0:
        return 0, min(a[1], max(b[1] - 1, 0))
    return min(b[0] + 1, 0), max(b[1] - 1, 0)


def _minimum(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), min(a[1], b[1])


def _and(a: Range, b: Range) -> Range:
    """The bits of a number that is not negative bound the result."""
    bounds = [high for low, high in (a, b) if low >= 0]
    return (0, min(bounds)) if bounds else _bits(a, b)


def _bits(a: Range, b: Range) -> Range:
    bits = max(abs(bound).bit_length() for bound in (*a, *b))
    return (0 if min(a[0], b[0]) >= 0 else -(1 << bits)), (1 << bits) - 1


_OPERATIONS: dict[str, Callable[[Range, Range], Range]] = {
    "//": _quotient,
    "%": _remainder,
    "min": _minimum,
    "&": _and,
    "^": _bits,
}
