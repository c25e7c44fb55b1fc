"""Search strategies of the tuner: exhaustive, successive halving, random, local, or by a surrogate model.

A search is asked for trials and told what came of them. It knows configurations by number only, and asks the same again
when it is told the same: so a search that was killed is gone through again with what was written down, and goes on.
Whoever has a better idea of where to look writes another class with `ask`, `tell` and `finalists`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple, Protocol

import numpy as np

# What is likely of configurations that nobody has measured, from those that somebody has.
# Times of configurations that share parameters are alike. The logarithm of the time is taken for a Gaussian process
# whose covariance is, in equal parts, what two configurations share parameter by parameter and what they share in all
# at once: the first finds what each parameter does by itself from few samples, the second what only some combinations
# do.

_REACH = 2.0
"""The smallest and the largest value of a parameter, or two that have no order, share exp(-2)."""
_NOISE = 0.06
"""Relative deviation of a measured time."""


class SurrogateModel:
    """Of the configurations that can be chosen from."""

    def __init__(self, configs: Mapping[int, Mapping[str, Any]]) -> None:
        self._place = {number: i for i, number in enumerate(configs)}
        names = dict.fromkeys(name for config in configs.values() for name in config)
        columns = ([config.get(name) for config in configs.values()] for name in names)
        alike = [np.exp(-_REACH * apart) for apart in map(_apart, columns) if apart.any()]
        whole = np.ones((len(configs), len(configs)))
        self._alike = (np.mean(alike, axis=0) + np.prod(alike, axis=0)) / 2 if alike else whole

    def likely(self, seconds: Mapping[int, float]) -> dict[int, tuple[float, float]]:
        """For every configuration the logarithm of its time, and how far off that may be."""
        at = [self._place[number] for number in seconds]
        logs = np.log(np.maximum(list(seconds.values()), 1e-12))
        centre, spread = float(logs.mean()), max(float(logs.std()), 1e-3)
        root = np.linalg.cholesky(self._alike[np.ix_(at, at)] + (_NOISE / spread) ** 2 * np.eye(len(at)))
        weights = np.linalg.solve(root, self._alike[:, at].T)
        mean = centre + weights.T @ np.linalg.solve(root, logs - centre)
        unknown = spread * np.sqrt(np.maximum(1.0 - (weights**2).sum(0), 0.0))
        return {number: (float(mean[i]), float(unknown[i])) for number, i in self._place.items()}


def _apart(values: Sequence[Any]) -> np.ndarray:
    """How far two configurations are from each other along one parameter: by steps if it has numbers, else 0 or 1."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        several = sorted(set(values))
        ranks = np.array([several.index(value) for value in values]) / max(1, len(several) - 1)
        return np.abs(ranks[:, None] - ranks)
    words = np.array([repr(value) for value in values])
    return np.asarray(words[:, None] != words, float)


FINALISTS = 4
FIRST = 4
"""Samples of a configuration that is new."""
_ENOUGH, _ENOUGH_SECONDS = 16, 0.016
"""Samples before one is called slower than another, if the best takes no more time than that for so many."""
_STARTS = 12
_DRAWN = 16
"""Configurations that a model is made of before it is asked."""
_LEADERS = 12
"""Configurations whose neighbours are looked at: from fewer a search ends beside the best more often than not."""
_BATCH = 8
"""Configurations that are asked for together, so that all processors have something to compile."""
_SEMIFINAL = 20
"""Configurations of a search that does not look at all, sampled more often in the end."""
_PART = 0.26
"""Searches that do not look at all try so much of them at most."""
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
    """What was told of configurations: the middle of the samples counts.

    Noise does not only add: now and then a call is a third faster than all others, and the least is luck.
    """

    def __init__(self) -> None:
        self.best: dict[int, float] = {}

    def tell(self, number: int, seconds: Sequence[float] | None) -> None:
        """Keep what came of a configuration."""
        self.best[number] = median(seconds) if seconds else math.inf

    def ranked(self) -> list[int]:
        """Those that run, the fastest first."""
        return sorted((n for n, middle in self.best.items() if middle < math.inf), key=lambda n: (self.best[n], n))

    def enough(self) -> int:
        """Samples before two are compared: a power of two, the more the quicker the best is."""
        quickest = min(self.best.values(), default=math.inf)
        samples = FIRST
        while samples < _ENOUGH and 2 * samples * quickest <= _ENOUGH_SECONDS:
            samples *= 2
        return samples


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
        if not self._is_first and self._samples < self.enough():
            self._samples = self.enough()
            self._alive = [number for number in self.ranked() if number in self._alive]
        elif not self._is_first:
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
        self._samples: dict[int, int] = {}
        """That were asked for."""

    def wanted(self) -> list[int]:
        """Those that are sampled next; nothing: the best are known."""
        raise NotImplementedError

    def tell(self, number: int, seconds: Sequence[float] | None) -> None:
        super().tell(number, seconds)
        if self._final is not None:
            self._final.tell(number, seconds)

    def ask(self) -> list[Trial]:
        if self._final is None:
            enough = self.enough()
            if wanted := [n for n in self.ranked() if self._samples[n] < enough] or self.wanted():
                self._samples |= dict.fromkeys(wanted, enough)
                return [Trial(number, enough) for number in wanted]
            self._final = Halving(self.promising()[:_SEMIFINAL], 2 * enough)
        return self._final.ask()

    def promising(self) -> list[int]:
        """Those that ran, the likely best first."""
        return self.ranked()

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


class Modelled(Narrowing):
    """A few that are drawn; then those that may be the best, by a model of all that was measured, again and again.

    A configuration may be good because others like it are, or because nothing like it was tried: both count.
    """

    def __init__(self, configs: Mapping[int, Mapping[str, Any]], seed: int = 0, budget: int | None = None) -> None:
        super().__init__(budget, len(configs))
        self._landscape = SurrogateModel(configs)
        self._left = list(configs)
        random.Random(seed).shuffle(self._left)

    def wanted(self) -> list[int]:
        left, runs = self._budget - len(self.ranked()), len(self.ranked())
        if runs >= _DRAWN:
            likely = self._likely()
            self._left.sort(key=lambda n: (round(likely[n][0] - likely[n][1], 6), n))
        count = min(left, _DRAWN - runs if runs < _DRAWN else _BATCH)
        drawn, self._left = self._left[:count], self._left[count:]
        return drawn

    def promising(self) -> list[int]:
        """What was measured, and what those like it make likely, in equal parts."""
        if not self.ranked():
            return []
        likely = self._likely()
        return sorted(self.ranked(), key=lambda n: (round(likely[n][0] + math.log(self.best[n]), 6), n))

    def _likely(self) -> dict[int, tuple[float, float]]:
        return self._landscape.likely({number: self.best[number] for number in sorted(self.ranked())})


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
        case "model":
            return Modelled(configs, seed, budget)
    return Halving(numbers) if len(numbers) <= FEW else Modelled(configs, seed, budget)


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
