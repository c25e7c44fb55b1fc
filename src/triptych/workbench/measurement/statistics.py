"""Intervals: of a median by order statistics, of paired differences by signed ranks, and of few means by Student's t.

The first two are exact about what they assume, and assume little: samples that are drawn alike; differences that are as
often above their centre as below. Means and standard deviations of times assume far more than a busy machine gives; the
third is for the estimates of several processes, which are too few for ranks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

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
