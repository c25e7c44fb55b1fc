"""Searches: within a few per cent of the best with few trials, the same again when told the same, nothing lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from triptych.cute.tuning.rows import configs_of
from triptych.cute.tuning.search import (
    FINALISTS,
    Coordinate,
    Exhaustive,
    Halving,
    Modelled,
    Random,
    Search,
    SurrogateModel,
    search_named,
)

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


def test_a_model_finds_the_best_among_few_whose_times_are_noisy() -> None:
    worst = []
    for seed in range(5):
        times, random = times_of(seed), np.random.default_rng(seed)
        search = Modelled(dict(enumerate(CONFIGS)), seed)
        tried, _ = search_through(search, _noisy(1e-4 * times, random))
        assert len(tried) <= 0.4 * len(CONFIGS)
        worst.append(min(times[search.finalists()]) / times.min())
    assert np.median(worst) <= 1.03


def _noisy(times: np.ndarray, random: np.random.Generator) -> Callable[[int, int], list[float]]:
    """Now and then a call is a third faster, now and then much slower."""
    return lambda number, count: list(times[number] * random.choice([0.67, 1.0, 1.02, 1.05, 1.4], max(0, count)))


def test_slow_kernels_are_sampled_less() -> None:
    """Samples are cheap beside compiling only as long as a call is short."""
    taken = []
    for unit in (1e-5, 1.0):
        search = Halving(range(40))
        taken.append(search_through(search, exactly(unit * times_of(0)))[1])
    assert taken[0] > 2 * taken[1]


def test_what_is_like_others_is_likely_to_be_as_fast() -> None:
    """The product of two parameters, of which half is known; and what is known is known best."""
    configs = dict(enumerate(configs_of({"m": [1, 2, 4, 8, 16, 32], "kind": ["a", "b", "c", "d"]})))
    seconds = {
        n: config["m"] * {"a": 1.0, "b": 1.5, "c": 2.0, "d": 3.0}[config["kind"]] for n, config in configs.items()
    }
    known = {n: seconds[n] for n in configs if (n // 4 + n % 4) % 2 == 0}
    likely = SurrogateModel(configs).likely(known)
    errors = {n: abs(likely[n][0] - np.log(seconds[n])) for n in configs}
    assert max(errors[n] for n in known) < 0.1
    assert np.mean([errors[n] for n in configs if n not in known]) < 0.3 * np.std(np.log(list(seconds.values())))
    assert max(likely[n][1] for n in known) < min(likely[n][1] for n in configs if n not in known)


def test_configurations_of_any_shape_have_a_landscape() -> None:
    """Listed one by one, with values of any kind, with names that others have not, or all the same."""
    spaces: list[list[dict[str, Any]]] = [
        [{"a": 1}, {"b": (1, 2)}, {"a": "x", "b": [3]}],
        [{}, {}],
        [{"a": 1}, {"a": 1}],
        [{"a": True}],
    ]
    for configs in spaces:
        likely = SurrogateModel(dict(enumerate(configs))).likely({0: 1.0})
        assert len(likely) == len(configs)
        assert np.isfinite(list(likely.values())).all()


def test_what_cannot_run_is_replaced_and_never_wins() -> None:
    times = times_of(1)

    def sample(number: int, count: int) -> list[float] | None:
        return None if number % 3 else [times[number]] * count

    several: list[Search] = [Random(range(len(times)), 1, 40), Exhaustive(range(288))]
    several += [Coordinate(dict(enumerate(CONFIGS)), 1), Modelled(dict(enumerate(CONFIGS)), 1)]
    for search in several:
        search_through(search, sample)
        assert search.finalists()
        assert all(number % 3 == 0 for number in search.finalists())
    drawn = Random(range(len(times)), 1, 40)
    tried, _ = search_through(drawn, sample)
    assert sum(number % 3 == 0 for number in tried) == 40
    for name in ("exhaustive", "halving", "random", "coordinate", "model", "auto"):
        nothing = search_named(name, dict(enumerate(CONFIGS)), 0, None)
        search_through(nothing, lambda number, count: None)
        assert nothing.finalists() == []


@pytest.mark.parametrize("name", ["exhaustive", "halving", "random", "coordinate", "model", "auto"])
def test_given_the_same_answers_it_asks_the_same(name: str) -> None:
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
