"""Unknowns of symbolic integers: named, with a width and what is promised of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triptych.layout.integers import Requirement

if TYPE_CHECKING:
    from triptych.layout.symbolic import SymInt


@dataclass(frozen=True, slots=True)
class Symbol:
    """An unknown: the caller's value is `divisor` times it."""

    name: str
    divisor: int = 1
    width: int = 32
    lower: int | None = 1

    def promise(self, requirement: Requirement) -> bool:
        """Have a requirement checked when the program runs; False for an unknown that is no number then."""
        return False

    def number_of(self, value: SymInt, exact: bool) -> Any:
        """The run-time number that an integer of such unknowns is; None when there is none.

        Numbers wrap where machine integers end; `exact` asks for one that holds the value, to be compared.
        """
        return None

    def __str__(self) -> str:
        return self.name if self.divisor == 1 else f"({self.name}/{self.divisor})"
