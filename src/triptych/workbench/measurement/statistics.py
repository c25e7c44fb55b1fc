"""Two formulas: the interval of a median by order statistics, and that of paired differences by signed ranks.

Both are exact about what they assume, and assume little: samples that are drawn alike; differences that are as often
above their centre as below. Means and standard deviations of times assume far more than a busy machine gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

_FEWEST = 6
"""Samples for a 95 % interval of the median: the smallest and the largest of five have only 94 %."""
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


def _rank(n: int, tail: float) -> int:
    """The largest k for which fewer than k + 1 of n samples lie below the median with less than that probability."""
    logarithm, total, k = -n * math.log(2), 0.0, 0
    while True:
        total += math.exp(logarithm)
        if total > tail:
            return max(0, k - 1)
        logarithm += math.log((n - k) / (k + 1))
        k += 1
