"""Successive halving in turns: everybody gets a few samples, the better half gets more, until few are left.

`ask` gives the configurations to be sampled next, in an order that is drawn, and `tell` takes what came of one; whoever
has a better idea of where to look writes another class with the two.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

FINALISTS = 4
_FIRST = 2


class Halving:
    """Rounds over configurations by number."""

    def __init__(self, numbers: Sequence[int], seed: int = 0, samples: int = _FIRST) -> None:
        self.alive = list(numbers)
        self.samples = samples
        """Of each configuration in this round."""
        self._draw = random.Random(seed)
        self._known: dict[int, list[float]] = {}

    @property
    def is_over(self) -> bool:
        """Whether only finalists are left."""
        return len(self.alive) <= FINALISTS

    def ask(self) -> list[int]:
        """Each that is alive, as often as the round samples it, mixed."""
        turns = [number for number in self.alive for _ in range(self.samples)]
        self._draw.shuffle(turns)
        return turns

    def tell(self, number: int, seconds: float | None) -> None:
        """What came of it; None: it failed, and is out."""
        if seconds is None:
            self.alive = [other for other in self.alive if other != number]
        else:
            self._known.setdefault(number, []).append(seconds)

    def halve(self) -> None:
        """Keep the better half, and sample it twice as often."""
        ranked = sorted(self.alive, key=lambda number: min(self._known.get(number, [float("inf")])))
        self.alive = ranked[: max(FINALISTS, (len(ranked) + 1) // 2)] if len(ranked) > FINALISTS else ranked
        self.samples *= 2
