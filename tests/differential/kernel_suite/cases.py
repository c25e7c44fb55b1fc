"""The cases of the suite: a property of a kernel, the values it is drawn from, and how often a short run draws."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from tests.support.examples import examples

FACTOR = int(os.environ.get("KERNEL_SUITE_FACTOR", "1"))
"""How many times the usual number of examples; above 1 they are new ones on every run."""

CASES: dict[str, Callable[[], None]] = {}
"""By name: draws arguments, runs the kernel with each and compares."""

Check = Callable[..., None]


def case(usual: int, **drawn: SearchStrategy[Any]) -> Callable[[Check], Check]:
    """Register a property. Sizes may be drawn at will; every drawn static value is one more kernel to compile."""

    def register(check: Check) -> Check:
        name = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
        assert name not in CASES, f"{name} is registered twice"
        profile = settings(
            derandomize=FACTOR == 1 and settings.get_current_profile_name() != "nightly",
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        CASES[name] = examples(usual * FACTOR, profile)(given(**drawn)(check))
        return check

    return register
