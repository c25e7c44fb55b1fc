"""What is likely of configurations that nobody has measured, from those that somebody has.

Times of configurations that share parameters are alike. The logarithm of the time is taken for a Gaussian process whose
covariance is, in equal parts, what two configurations share parameter by parameter and what they share in all at once:
the first finds what each parameter does by itself from few samples, the second what only some combinations do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_REACH = 2.0
"""The smallest and the largest value of a parameter, or two that have no order, share exp(-2)."""
_NOISE = 0.06
"""Relative deviation of a measured time."""


class Landscape:
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
