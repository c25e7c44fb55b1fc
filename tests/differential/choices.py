"""Where a generated program's decisions come from: one source of bounded integers, in three forms.

Every decision is a number below a bound and 0 is always the simplest outcome. That makes one generator serve the fast
seeded runs, Hypothesis (which shrinks its draws towards 0) and the replay of an edited record of decisions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies

T = TypeVar("T")

DrawFunction = Callable[[strategies.SearchStrategy[int]], Any]


class Choices(ABC):
    """Decisions with a bound; `record` is what was decided, enough to replay the program."""

    def __init__(self) -> None:
        self.record: list[int] = []

    @abstractmethod
    def _below(self, bound: int) -> int:
        """Return a number in `[0, bound)`; 0 stands for the simplest outcome."""

    def below(self, bound: int) -> int:
        """Return a number in `[0, bound)`."""
        decided = self._below(bound)
        self.record.append(decided)
        return decided

    def integer(self, lowest: int, highest: int) -> int:
        """Return a number in `[lowest, highest]`; the lowest is the simplest."""
        return lowest + self.below(highest - lowest + 1)

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options; the first is the simplest."""
        return options[self.below(len(options))]

    def boolean(self, probability: float) -> bool:
        """Return True with the given probability; False is the simplest."""
        return self.below(100) >= 100 - round(probability * 100)

    def several(self, most: int, probability: float) -> Iterator[int]:
        """Count up while a decision before each step says so: cutting out one step's decisions leaves the others."""
        for step in range(most):
            if not self.boolean(probability):
                return
            yield step


class RandomChoices(Choices):
    """Decisions of a seed: the same program every time, in about a millisecond."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = Random(seed).random

    def _below(self, bound: int) -> int:
        return int(self._random() * bound)


class DrawnChoices(Choices):
    """Decisions drawn by Hypothesis, so that a failing program shrinks."""

    def __init__(self, draw: DrawFunction) -> None:
        super().__init__()
        self._draw = draw

    def _below(self, bound: int) -> int:
        return int(self._draw(strategies.integers(0, bound - 1)))


class ReplayedChoices(Choices):
    """Decisions read from a record; beyond its end, and where a number is too large, the simplest that fits."""

    def __init__(self, decisions: Sequence[int]) -> None:
        super().__init__()
        self._decisions = iter(decisions)

    def _below(self, bound: int) -> int:
        return min(next(self._decisions, 0), bound - 1)
