"""Evidence: one kernel on tensors in the cache and in memory, measured."""

from __future__ import annotations

from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, compared
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.machine import last_cache


def measured(page: ModuleType) -> Rows:
    """The same call, with and without eviction before it."""
    evicting = HostClock(2 * (last_cache() or 1 << 25))

    def call() -> None:
        page.add(page.x, page.y)

    return compared({"hot": call, "cold": lambda: call()}, {"hot": call, "cold": evicting.evict})
