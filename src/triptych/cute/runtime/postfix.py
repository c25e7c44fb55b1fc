"""Integers of a layout in postfix notation, the form in which the compiled signature carries them: `2 n *`."""

from __future__ import annotations

from collections.abc import Callable

from triptych.layout import Int, SymInt
from triptych.layout.symbolic import Atom, Monomial, Symbol

Rename = Callable[[str], str]


def postfix(value: Int, rename: Rename) -> str:
    """The integer over its unknowns, which are called what `rename` makes of their names."""
    if not isinstance(value, SymInt):
        return str(value)
    first, *others = [_term(monomial, coefficient, rename) for monomial, coefficient in value.terms]
    return " ".join([first, *(f"{other} +" for other in others)])


def _term(monomial: Monomial, coefficient: int, rename: Rename) -> str:
    """An unknown stands for a part of the caller's number; a coefficient that the part divides takes the number."""
    factors: list[str] = []
    for atom in monomial:
        if isinstance(atom, Symbol) and coefficient % atom.divisor == 0:
            coefficient //= atom.divisor
            factors.append(rename(atom.name))
        else:
            factors.append(_atom(atom, rename))
    if coefficient != 1 or not factors:
        factors.insert(0, str(coefficient))
    first, *others = factors
    return " ".join([first, *(f"{other} *" for other in others)])


def _atom(atom: Atom, rename: Rename) -> str:
    if isinstance(atom, Symbol):
        return f"{rename(atom.name)} {atom.divisor} //"
    return f"{postfix(atom.left, rename)} {postfix(atom.right, rename)} {atom.name}"
