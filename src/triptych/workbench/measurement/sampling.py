"""Sampling: times of one candidate until its median is known, of two in turns for a fixed time, and their intervals.

One candidate stops when the interval of its median is narrow enough, or when the time is over. Two never stop early:
looking at a verdict again and again until it is one makes verdicts of noise.

Intervals are of a median by order statistics, of paired differences by signed ranks, and of few means by Student's t.
The first two are exact about what they assume, and assume little: samples that are drawn alike; differences that are
as often above their centre as below. Means and standard deviations of times assume far more than a busy machine
gives; the third is for the estimates of several processes, which are too few for ranks.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, field
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np

from triptych.support.dataclass import dataclass
from triptych.workbench.measurement.clocks import HOST, Call, Clock, without_collections

_FEWEST = 6
"""Samples for a 95 % interval of the median: the smallest and the largest of five have only 94 %."""
_HALVINGS = 100
MOST_PAIRS = 1500
"""All means of two of so many are a million numbers."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A number that was estimated, and where it may be."""

    estimate: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Relative to the estimate: half of the interval; unknown for too few samples."""
        return (self.high - self.low) / 2 / abs(self.estimate) if self.estimate else math.inf


def median_interval(samples: np.ndarray, confidence: float = 0.95) -> Interval:
    """The median, and the order statistics between which the true one lies with that confidence."""
    ordered, n = np.sort(samples), len(samples)
    middle = float(np.median(ordered))
    if n < _FEWEST:
        return Interval(middle, -math.inf, math.inf)
    k = _rank(n, (1 - confidence) / 2)
    return Interval(middle, float(ordered[k]), float(ordered[n - 1 - k]))


def paired_interval(differences: np.ndarray, confidence: float = 0.99) -> Interval:
    """The centre of paired differences (Hodges and Lehmann's), and its interval by signed ranks (Wilcoxon's)."""
    kept = differences[:MOST_PAIRS]
    n = len(kept)
    rows, columns = np.triu_indices(n)
    means = np.sort((kept[rows] + kept[columns]) / 2)
    spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    k = math.floor(len(means) / 2 - NormalDist().inv_cdf((1 + confidence) / 2) * spread)
    if k < 0:
        return Interval(float(np.median(means)), -math.inf, math.inf)
    return Interval(float(np.median(means)), float(means[k]), float(means[len(means) - 1 - k]))


def mean_interval(estimates: np.ndarray, confidence: float) -> Interval:
    """The mean of a few estimates, and its interval by Student's distribution."""
    n, mean = len(estimates), float(np.mean(estimates))
    if n < 2:
        return Interval(mean, -math.inf, math.inf)
    half = student_quantile((1 + confidence) / 2, n - 1) * float(np.std(estimates, ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def student_quantile(probability: float, freedom: int) -> float:
    """Of Student's distribution, by halving: the distribution itself is a finite sum for whole degrees of freedom."""
    low, high = 0.0, 1e6
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _student(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def _student(t: float, freedom: int) -> float:
    """The probability of less than t, for t of 0 or more."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, start = math.cos(angle), freedom % 2
    term = cosine if start else 1.0
    total = 0.0
    for i in range(start, freedom - 1, 2):
        total += term
        term *= (i + 1) / (i + 2) * cosine**2
    inside = (angle + math.sin(angle) * total) * 2 / math.pi if start else math.sin(angle) * total
    return 0.5 + inside / 2


def _rank(n: int, tail: float) -> int:
    """The largest k for which fewer than k + 1 of n samples lie below the median with less than that probability."""
    logarithm, total, k = -n * math.log(2), 0.0, 0
    while True:
        total += math.exp(logarithm)
        if total > tail:
            return max(0, k - 1)
        logarithm += math.log((n - k) / (k + 1))
        k += 1


Verdict: TypeAlias = Literal["faster", "slower", "same", "undecided"]
NARROW = 0.01
_COSTS = 10
"""A call that takes fewer times the clock's cost is measured together with others."""
_LOOKS = 16
WARM_SECONDS, _WARM_CALLS = 0.1, 3
_FEWEST_ROUNDS = 20
"""Fewer have no interval of 99.8 %."""
_TRIES, _FOR_LEAST = 5, 0.05
CONFIDENCE = 0.998
"""Of the interval that decides: one comparison of equal sides in 500 may be called different."""
SMALLEST = 0.0075
"""Where code and memory happen to lie changes times by as much; a smaller difference is not one of kernels."""
ONE_PROCESS = 0.03
"""What one process draws once moves its times by as much; a comparison in one process finds no smaller difference."""
SAME = 0.02
"""An interval within so much is the same for most purposes."""


@dataclass(frozen=True, slots=True)
class Figure:
    """How long one call takes, in seconds."""

    median: float
    low: float
    high: float
    minimum: float
    quartiles: tuple[float, float]
    samples: list[float] = field(repr=False)
    batch: int = 1
    is_narrow: bool = False
    """The interval is within 1 %; otherwise the time was over."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The second side against the first, as the logarithm of the ratio of their times."""

    ratio: Interval
    noise: float
    """How far the first side seems to be from itself in the same run."""
    rounds: int
    first: list[float] = field(repr=False)
    second: list[float] = field(repr=False)
    parts: int = 1
    """Comparisons that it is the mean of: in new processes, or at new places."""

    @property
    def verdict(self) -> Verdict:
        """On the second side."""
        least = max(self.noise, SMALLEST if self.parts > 1 else ONE_PROCESS)
        if self.ratio.high < 0 and -self.ratio.estimate > least:
            return "faster"
        if self.ratio.low > 0 and self.ratio.estimate > least:
            return "slower"
        return "same" if self.within <= SAME else "undecided"

    @property
    def within(self) -> float:
        """How different the two may be at most, as a part."""
        return math.expm1(min(50.0, max(abs(self.ratio.low), abs(self.ratio.high))))

    def text(self) -> str:
        """For people: the verdict and the interval."""
        centre, low, high = (
            100 * math.expm1(min(50.0, x)) for x in (self.ratio.estimate, self.ratio.low, self.ratio.high)
        )
        head = f"same within {100 * self.within:.1f} %" if self.verdict == "same" else self.verdict
        interval = f"{100 * CONFIDENCE:g} % interval {low:+.2f} % to {high:+.2f} %"
        where = f" in {self.parts} processes" if self.parts > 1 else " of one process"
        return f"{head}: {centre:+.2f} % of the time, {interval}, {self.rounds} rounds{where}"


def batch_for(call: Call, clock: Clock) -> int:
    """How many calls are measured together; a few have run before."""
    once = min(clock.seconds(call, 1) for _ in range(5))
    return 1 if once >= _COSTS * clock.cost else max(1, math.ceil(2 * _COSTS * clock.cost / max(once, 1e-9)))


def warm_up(call: Call, seconds: float = WARM_SECONDS, between: Call | None = None) -> None:
    """Compile, and let caches, pools and clocks settle; `between` runs before each call, as for `figure`."""
    end, calls = time.perf_counter() + seconds, 0
    while calls < _WARM_CALLS or time.perf_counter() < end:
        if between is not None:
            between()
        call()
        calls += 1


def figure(
    call: Call, clock: Clock, seconds: float, now: Callable[[], float] = time.perf_counter, between: Call | None = None
) -> Figure:
    """Sample one side; `between` runs before each sample and is not measured. Then calls are not measured together."""
    batch, samples = batch_for(call, clock) if between is None else 1, list[float]()
    look = _LOOKS
    with without_collections():
        end = now() + seconds  # what is collected before takes none of it
        while True:
            if between is not None:
                between()
            samples.append(clock.seconds(call, batch) / batch)
            if len(samples) >= look:
                if median_interval(np.array(samples)).width <= NARROW:
                    break
                look = math.ceil(1.25 * look)
            if now() >= end:
                break
    return figure_of(samples, batch)


def figure_of(samples: Sequence[float], batch: int = 1) -> Figure:
    """What samples say."""
    times = np.array(samples)
    median = median_interval(times)
    quarters = np.percentile(times, [25, 75])
    return Figure(
        median.estimate,
        median.low,
        median.high,
        float(times.min()),
        (float(quarters[0]), float(quarters[1])),
        list(samples),
        batch,
        median.width <= NARROW,
    )


def in_turns(
    first: Call,
    second: Call,
    clock: Clock,
    seconds: float,
    seed: int = 0,
    before: tuple[Call, Call] | None = None,
) -> Comparison:
    """Both sides, each twice for the noise, in an order that is drawn for each round.

    `before` has what runs before each sample of a side and is not measured, such as giving inputs their values back.
    """
    batch = max(batch_for(first, clock), batch_for(second, clock)) if before is None else 1
    once = 2 * sum(_least(side, clock, batch, seconds) for side in (first, second))
    rounds = min(MOST_PAIRS, max(_FEWEST_ROUNDS, int(seconds / max(once, 1e-7))))
    sides, draw = (first, second, first, second), random.Random(seed)
    times: tuple[list[float], ...] = ([], [], [], [])
    order = list(range(len(sides)))
    with without_collections():
        end = time.perf_counter() + seconds
        for done in range(rounds):
            draw.shuffle(order)
            for side in order:
                if before is not None:
                    before[side % 2]()
                times[side].append(clock.seconds(sides[side], batch) / batch)
            if done >= _FEWEST_ROUNDS and clock.name == HOST and time.perf_counter() > end:
                break  # a machine that became busy; the number of rounds depends on no verdict
    return compared(*(np.array(side) for side in times))


def _least(call: Call, clock: Clock, batch: int, seconds: float) -> float:
    """The smallest of a few samples: one that was interrupted would leave time for few rounds."""
    end, samples = time.perf_counter() + seconds * _FOR_LEAST, list[float]()
    while not samples or (len(samples) < _TRIES and time.perf_counter() < end):
        samples.append(clock.seconds(call, batch))
    return min(samples)


def compared(first: np.ndarray, second: np.ndarray, first_again: np.ndarray, second_again: np.ndarray) -> Comparison:
    """Paired logarithms of ratios; as many samples of both, so that equal sides differ alike in both directions."""
    logs = [np.log(np.maximum(side, 1e-12)) for side in (first, second, first_again, second_again)]
    ratio = paired_interval((logs[1] + logs[3] - logs[0] - logs[2]) / 2, CONFIDENCE)
    itself = paired_interval(logs[2] - logs[0])
    both = [np.concatenate(pair).tolist() for pair in ((first, first_again), (second, second_again))]
    return Comparison(ratio, abs(itself.estimate), len(first), *both)


def combined(parts: Sequence[Comparison]) -> Comparison:
    """Comparisons of the same two kernels, each drawn anew: what decides is how far these agree."""
    ratio = mean_interval(np.array([part.ratio.estimate for part in parts]), CONFIDENCE)
    noise = math.sqrt(sum(part.noise**2 for part in parts)) / len(parts)  # of their mean
    first = [sample for part in parts for sample in part.first]
    second = [sample for part in parts for sample in part.second]
    return Comparison(ratio, noise, sum(part.rounds for part in parts), first, second, len(parts))


def plain_figure(found: Figure) -> dict[str, Any]:
    """For JSON, which has no infinities: an interval that is not known is null."""
    known = math.isfinite(found.low) and math.isfinite(found.high)
    return {**asdict(found), **({} if known else {"low": None, "high": None})}


def as_plain(comparison: Comparison) -> dict[str, Any]:
    """For JSON."""
    low, high = comparison.ratio.low, comparison.ratio.high
    return {
        "verdict": comparison.verdict,
        "text": comparison.text(),
        "ratio": math.exp(comparison.ratio.estimate),
        "interval": [math.exp(max(-700.0, low)), math.exp(min(700.0, high))],
        "noise": comparison.noise,
        "rounds": comparison.rounds,
        "first": comparison.first,
        "second": comparison.second,
    }
