"""Which configurations are sampled next: all, some that are drawn, neighbours of the best, or the better half.

A search is asked for trials and told what came of them. It knows configurations by number only, and asks the same again
when it is told the same: so a search that was killed is gone through again with what was written down, and goes on.
Whoever has a better idea of where to look writes another class with `ask`, `tell` and `finalists`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

FINALISTS = 4
FIRST = 4
"""Samples of a configuration that is new."""
_STARTS = 12
_LEADERS = 12
"""Configurations whose neighbours are looked at: from fewer a search ends beside the best more often than not."""
_BATCH = 8
"""Neighbours that are asked for together at least, so that all processors have something to compile."""
_SEMIFINAL = 12
"""Configurations of a random or coordinate search that are sampled more often in the end."""
_PART = 0.4
"""Random and coordinate searches try so much of all configurations at most."""
FEW = 32
"""Of so many configurations all are tried."""


class Trial(NamedTuple):
    """A configuration, and how many samples of it there should be in all; 0: as many as its figure needs."""

    number: int
    samples: int


class Search(Protocol):
    """The strategy of a search."""

    def ask(self) -> list[Trial]:
        """What is sampled next, in turns; nothing: the search is over."""

    def tell(self, number: int, seconds: Sequence[float] | None) -> None:
        """All samples of a configuration so far; None: it cannot run."""

    def finalists(self) -> list[int]:
        """The best, the first first."""


class Known:
    """What was told of configurations: the least of the samples counts, because noise only adds."""

    def __init__(self) -> None:
        self.best: dict[int, float] = {}

    def tell(self, number: int, seconds: Sequence[float] | None) -> None:
        """Keep what came of a configuration."""
        self.best[number] = min(seconds) if seconds else math.inf

    def ranked(self) -> list[int]:
        """Those that run, the fastest first."""
        return sorted((n for n, least in self.best.items() if least < math.inf), key=lambda n: (self.best[n], n))


class Exhaustive(Known):
    """Everything, each to the end."""

    def __init__(self, numbers: Sequence[int]) -> None:
        super().__init__()
        self._left = list(numbers)

    def ask(self) -> list[Trial]:
        trials, self._left = [Trial(number, 0) for number in self._left], []
        return trials

    def finalists(self) -> list[int]:
        return self.ranked()[:1]


class Halving(Known):
    """A few samples of everything, in turns; the better half gets twice as many, until few are left."""

    def __init__(self, numbers: Sequence[int], samples: int = FIRST) -> None:
        super().__init__()
        self._alive = list(numbers)
        self._samples = samples
        self._is_first = True

    def ask(self) -> list[Trial]:
        if not self._is_first:
            self._alive = [number for number in self.ranked() if number in self._alive]
            if len(self._alive) <= FINALISTS:
                return []
            self._alive = self._alive[: max(FINALISTS, len(self._alive) // 2)]
            self._samples *= 2
        self._is_first = False
        return [Trial(number, self._samples) for number in self._alive]

    def finalists(self) -> list[int]:
        return [number for number in self.ranked() if number in self._alive][:FINALISTS]


class Narrowing(Known):
    """Configurations that are new as long as a search wants some; then the better half of the best, again and again."""

    def __init__(self, budget: int | None, count: int) -> None:
        super().__init__()
        self._budget = budget or max(FEW, int(_PART * count))
        self._final: Halving | None = None

    def wanted(self) -> list[int]:
        """Those that are sampled next; nothing: the best are known."""
        raise NotImplementedError

    def tell(self, number: int, seconds: Sequence[float] | None) -> None:
        super().tell(number, seconds)
        if self._final is not None:
            self._final.tell(number, seconds)

    def ask(self) -> list[Trial]:
        if self._final is None:
            if wanted := self.wanted():
                return [Trial(number, FIRST) for number in wanted]
            self._final = Halving(self.ranked()[:_SEMIFINAL], 2 * FIRST)
        return self._final.ask()

    def finalists(self) -> list[int]:
        return self._final.finalists() if self._final is not None else self.ranked()[:FINALISTS]


class Random(Narrowing):
    """Configurations that are drawn; one that cannot run is replaced by another."""

    def __init__(self, numbers: Sequence[int], seed: int = 0, budget: int | None = None) -> None:
        super().__init__(budget, len(numbers))
        self._left = list(numbers)
        random.Random(seed).shuffle(self._left)

    def wanted(self) -> list[int]:
        count = self._budget - len(self.ranked())
        drawn, self._left = self._left[:count], self._left[count:]
        return drawn


class Coordinate(Narrowing):
    """From a few that are drawn along the parameters: the neighbours of the best, until the best have no better ones.

    A neighbour differs in one parameter, by one step if its values have an order. Only what is asked for is compiled.
    """

    def __init__(
        self, configs: Mapping[int, Mapping[str, Any]], seed: int = 0, budget: int | None = None, starts: int = _STARTS
    ) -> None:
        super().__init__(budget, len(configs))
        self._configs = dict(configs)
        self._starts = starts
        self._drawn = list(self._configs)
        random.Random(seed).shuffle(self._drawn)
        self._steps = _steps(self._configs.values())
        self._asked: set[int] = set()
        self._expanded: set[int] = set()

    def wanted(self) -> list[int]:
        found = self._next()
        self._asked.update(found)
        return found

    def _next(self) -> list[int]:
        left = self._budget - len(self.ranked())
        while left > 0:
            if len(self.ranked()) < min(self._starts, len(self._drawn)):
                wanted = [number for number in self._drawn if number not in self._asked]
                wanted = wanted[: self._starts - len(self.ranked())]
                if not wanted:
                    break
                return wanted[:left]
            new: dict[int, None] = {}
            for leader in self.ranked()[:_LEADERS]:
                if leader not in self._expanded and len(new) < _BATCH:
                    self._expanded.add(leader)
                    new |= dict.fromkeys(n for n in self._neighbours(leader) if n not in self._asked)
            if new:
                return list(new)[:left]
            if all(leader in self._expanded for leader in self.ranked()[:_LEADERS]):
                break
        return []

    def _neighbours(self, number: int) -> list[int]:
        here = self._configs[number]
        return [other for other, there in self._configs.items() if self._is_near(here, there)]

    def _is_near(self, here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
        differing = [name for name in here if here[name] != there.get(name)]
        if len(differing) != 1 or here.keys() != there.keys():
            return False
        steps = self._steps[differing[0]]
        return not steps or abs(steps[here[differing[0]]] - steps[there[differing[0]]]) == 1


def search_named(name: str, configs: Mapping[int, Mapping[str, Any]], seed: int, budget: int | None) -> Search:
    """The search that the command line names; few configurations are all tried, whatever they are neighbours of."""
    numbers = list(configs)
    match name:
        case "exhaustive":
            return Exhaustive(numbers)
        case "halving":
            return Halving(numbers)
        case "random":
            return Random(numbers, seed, budget)
        case "coordinate":
            return Coordinate(configs, seed, budget)
    return Halving(numbers) if len(numbers) <= FEW else Coordinate(configs, seed, budget)


def _steps(configs: Any) -> dict[str, dict[Any, int]]:
    """For each parameter with numbers its values in order; nothing for others, which are all near."""
    values: dict[str, set[Any]] = {}
    for config in configs:
        for name, value in config.items():
            values.setdefault(name, set()).add(value if isinstance(value, int | float | str | tuple) else repr(value))
    return {
        name: {value: i for i, value in enumerate(sorted(some))} if _are_numbers(some) else {}
        for name, some in values.items()
    }


def _are_numbers(values: set[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
