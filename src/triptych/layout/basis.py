"""Basis strides, which point into a coordinate instead of counting elements: `1@0`, `2@1@0`.

Input: a scale and the path of a mode. Output: a stride whose inner product with a coordinate is a coordinate.
The path is kept outermost mode first, (0, 1) for `1@1@0`, because that is how a coordinate is indexed. A scale may be
an exact fraction: `fractions.Fraction` would reduce at once, the notation of a layout keeps 2/4 as it was written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from triptych.layout.integers import DynamicInt, Int, is_static, known_equal
from triptych.support.dataclass import dataclass


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


@dataclass(frozen=True, slots=True)
class ScaledBasis:
    """`value` times the unit of the mode at `mode`."""

    value: Int | Ratio
    mode: tuple[int, ...]

    def __post_init__(self) -> None:
        given: Any = self.mode  # one integer or any sequence of them is accepted
        path = (given,) if isinstance(given, int) else tuple(given)
        object.__setattr__(self, "mode", path)
        if not path or any(not isinstance(step, int) or step < 0 for step in path):
            raise TypeError("the mode of a basis element is a non-negative integer or a sequence of them")

    @property
    def scale(self) -> Int:
        """The scale as an integer."""
        if isinstance(self.value, Ratio):
            raise TypeError(f"the basis element {self} has a fractional scale")
        return self.value

    @property
    def is_static(self) -> bool:
        """Whether the scale is known now."""
        return isinstance(self.value, Ratio) or is_static(self.value)

    def known_equal(self, other: object) -> bool:
        """Whether both name the same mode with scales that are equal for every run."""
        return isinstance(other, ScaledBasis) and self.mode == other.mode and known_equal(self.scale, other.scale)

    def __mul__(self, factor: Int) -> ScaledBasis:
        if isinstance(self.value, Ratio):
            if not isinstance(factor, int):
                return NotImplemented
            return ScaledBasis(self.value * factor, self.mode)
        return ScaledBasis(self.value * factor, self.mode)

    __rmul__ = __mul__

    def __str__(self) -> str:
        return f"{self.value}" + "".join(f"@{step}" for step in reversed(self.mode))


Step: TypeAlias = int | DynamicInt | ScaledBasis


def E(mode: int | Sequence[int]) -> ScaledBasis:
    """The unit of a mode: E(0) is `1@0`, E([0, 1]) is `1@1@0`."""
    return ScaledBasis(1, (mode,) if isinstance(mode, int) else tuple(mode))


def steps_known_equal(a: Step, b: Step) -> bool:
    """Whether two strides are equal for every run."""
    if isinstance(a, ScaledBasis):
        return a.known_equal(b)
    return not isinstance(b, ScaledBasis) and known_equal(a, b)
