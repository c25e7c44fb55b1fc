"""Searches: within a few per cent of the best with few trials, the same again when told the same, nothing lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from triptych.cute.tuning.rows import configs_of
from triptych.cute.tuning.search import FINALISTS, Coordinate, Exhaustive, Halving, Random, Search, search_named

SPACE: dict[str, list[Any]] = {
    "m": [32, 64, 128, 256],
    "n": [32, 64, 128, 256],
    "k": [8, 16, 32],
    "stages": [1, 2, 3],
    "order": ["a", "b"],
}
CONFIGS = configs_of(SPACE)


def times_of(seed: int) -> np.ndarray:
    """A landscape with a valley along each parameter, and a rough surface of 2 %."""
    random = np.random.default_rng(seed)
    shape = [len(values) for values in SPACE.values()]
    centres = [random.integers(count) for count in shape]
    weights = random.uniform(0.05, 0.4, len(shape))
    where = np.array(list(itertools.product(*map(range, shape))))
    return np.asarray(1 + (weights * np.abs(where - centres)).sum(1) + 0.02 * random.random(len(where)))


def search_through(search: Search, sample: Callable[[int, int], list[float] | None]) -> tuple[set[int], int]:
    """Which were tried, and how many samples were taken."""
    known: dict[int, list[float]] = {}
    failed: set[int] = set()
    while trials := search.ask():
        for number, samples in trials:
            more = sample(number, max(1, samples) - len(known.get(number, [])))
            if more is None:
                failed.add(number)
            known.setdefault(number, []).extend(more or [])
            search.tell(number, None if number in failed else known[number])
    return set(known), sum(map(len, known.values()))


def exactly(times: np.ndarray) -> Callable[[int, int], list[float]]:
    return lambda number, count: [float(times[number])] * count


@pytest.mark.parametrize("seed", range(5))
def test_halving_finds_the_best_with_few_samples(seed: int) -> None:
    times, random = times_of(seed), np.random.default_rng(seed)
    halving = Halving(range(len(times)))
    tried, samples = search_through(
        halving, lambda number, count: list(times[number] * (1 + 0.03 * random.standard_exponential(count)))
    )
    assert len(tried) == len(times)
    assert len(halving.finalists()) == FINALISTS
    assert min(times[halving.finalists()]) <= 1.03 * times.min()
    assert samples < 18 * len(times)


def test_coordinate_search_finds_the_best_among_few() -> None:
    worst = []
    for seed in range(40):
        times = times_of(seed)
        search = Coordinate(dict(enumerate(CONFIGS)), seed)
        tried, _ = search_through(search, exactly(times))
        assert len(tried) <= 0.4 * len(CONFIGS)
        worst.append(times[search.finalists()[0]] / times.min())
    assert np.quantile(worst, 0.9) <= 1.03


def test_what_cannot_run_is_replaced_and_never_wins() -> None:
    times = times_of(1)

    def sample(number: int, count: int) -> list[float] | None:
        return None if number % 3 else [times[number]] * count

    for search in (Random(range(len(times)), 1, 40), Coordinate(dict(enumerate(CONFIGS)), 1), Exhaustive(range(288))):
        search_through(search, sample)
        assert search.finalists()
        assert all(number % 3 == 0 for number in search.finalists())
    drawn = Random(range(len(times)), 1, 40)
    tried, _ = search_through(drawn, sample)
    assert sum(number % 3 == 0 for number in tried) == 40
    for name in ("exhaustive", "halving", "random", "coordinate", "auto"):
        nothing = search_named(name, dict(enumerate(CONFIGS)), 0, None)
        search_through(nothing, lambda number, count: None)
        assert nothing.finalists() == []


@pytest.mark.parametrize("name", ["exhaustive", "halving", "random", "coordinate", "auto"])
def test_told_the_same_it_asks_the_same(name: str) -> None:
    """So a search that was killed is gone through again with what was written down."""
    times = times_of(3)
    asked: list[list[object]] = []
    for _ in range(2):
        search = search_named(name, dict(enumerate(CONFIGS)), 5, None)
        seen: list[object] = []
        while trials := search.ask():
            seen += trials
            for number, samples in trials:
                search.tell(number, [times[number]] * max(1, samples))
        asked.append([*seen, search.finalists()])
    assert asked[0] == asked[1]
    assert asked[0]
