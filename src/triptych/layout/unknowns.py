"""Unknowns, new symbolic integers, and what is promised of their values."""

from __future__ import annotations

from triptych.layout.errors import DeclarationError
from triptych.layout.integers import Int
from triptych.layout.symbolic import FRESH, Symbol, SymInt


def sym_int(width: int = 32, divisibility: int = 1, *, symbol: str | None = None, lower: int | None = 1) -> SymInt:
    """A new unknown (or the one called `symbol`), a multiple of `divisibility` and at least `lower`."""
    name = symbol if symbol is not None else f"_{next(FRESH)}"
    return SymInt((((Symbol(name, divisibility, width, lower),), divisibility),))


def assume(value: Int, divby: int = 1) -> Int:
    """The same value, now known to be a multiple of `divby`: it is written as divby · (value // divby)."""
    if isinstance(value, int) and value % divby:
        raise DeclarationError("the assumption is false", found=str(value), expected=f"a multiple of {divby}")
    return value if isinstance(value, int) else (value // divby) * divby
