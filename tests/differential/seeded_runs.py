"""Fuzzing inside a test run: few fixed seeds for every run, many for the nightly one; how Hypothesis draws programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, settings

DRAWN = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
)


def few_and_many(seeds: Sequence[int], few: int) -> pytest.MarkDecorator:
    """Run the test with the first `few` seeds, and as a slow test with the others."""
    short = pytest.param(seeds[:few], id="few seeds")
    return pytest.mark.parametrize("seeds", [short, pytest.param(seeds[few:], id="many seeds", marks=pytest.mark.slow)])


def run_seeds(disagreement: Callable[[int], object | None], seeds: Sequence[int]) -> None:
    """No seed may give a disagreement."""
    assert seeds, "a run without seeds shows nothing"
    for seed in seeds:
        found = disagreement(seed)
        assert found is None, f"seed {seed}: {found}"
