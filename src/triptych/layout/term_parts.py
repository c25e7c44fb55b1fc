"""Parts of symbolic integers by their terms: the constant one and the others; the multiples of a number."""

from __future__ import annotations

from triptych.layout.integers import Int
from triptych.layout.symbolic import SymInt, terms_of


def constant_and_rest(value: SymInt) -> tuple[int, SymInt]:
    """The constant term, which comes first, and the others."""
    (first, constant), *others = value.terms
    return (constant, SymInt(tuple(others))) if first == () else (0, value)


def multiples_in(value: Int, factor: int) -> Int:
    """The part of a value that is seen to be multiples of a factor; the rest is what is left."""
    constant = dict(terms_of(value)).get((), 0)
    whole = tuple((monomial, number) for monomial, number in terms_of(value) if monomial and number % factor == 0)
    return constant // factor * factor + (SymInt(whole) if whole else 0)
