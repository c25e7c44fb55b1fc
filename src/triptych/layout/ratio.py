"""Exact fractions of integers, as they scale a basis element.

Input: a numerator and a denominator. Output: a value that multiplies without losing anything.
`fractions.Fraction` would reduce at once; the notation of a layout keeps 2/4 as it was written.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """numerator / denominator, reduced only when asked."""

    numerator: int
    denominator: int

    def __post_init__(self) -> None:
        parts: tuple[object, ...] = (self.numerator, self.denominator)
        if not all(isinstance(part, int) for part in parts):
            raise TypeError("a ratio is made of two Python integers")
        if self.denominator == 0:
            raise ZeroDivisionError("a ratio needs a denominator other than zero")

    def is_integral(self) -> bool:
        """Whether the value is a whole number."""
        return self.numerator % self.denominator == 0

    def reduced(self) -> Ratio:
        """The same value in lowest terms."""
        common = math.gcd(self.numerator, self.denominator)
        return Ratio(self.numerator // common, self.denominator // common)

    def to(self, kind: type[int] | type[float] | type[Ratio]) -> int | float | Ratio:
        """The value as a float, a Ratio, or an int rounded down."""
        if kind is Ratio:
            return self
        if kind is float:
            return self.numerator / self.denominator
        if kind is int:
            return self.numerator // self.denominator
        raise TypeError(f"a ratio converts to int, float or Ratio, not to {kind.__name__}")

    def __mul__(self, other: object) -> Ratio:
        if isinstance(other, Ratio):
            return Ratio(self.numerator * other.numerator, self.denominator * other.denominator)
        return Ratio(self.numerator * other, self.denominator) if isinstance(other, int) else NotImplemented

    __rmul__ = __mul__

    def __str__(self) -> str:
        return f"{self.numerator}/{self.denominator}"
