"""Fuzzing inside a test run: a fixed list of seeds for a bounded time, and how Hypothesis draws programs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from hypothesis import HealthCheck, settings

DRAWN = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


def run_seeds(disagreement: Callable[[int], object | None], seeds: Sequence[int], seconds: float, fewest: int) -> None:
    """No seed may give a disagreement; a slow machine takes longer, for the `fewest` that are run at least."""
    deadline = time.monotonic() + seconds
    done = 0
    while done < len(seeds) and (done < fewest or time.monotonic() < deadline):
        found = disagreement(seeds[done])
        assert found is None, f"seed {seeds[done]}: {found}"
        done += 1
