"""What a search tells while it goes on: what it does, how many configurations are done or failed, and the best."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from triptych.workbench.tuning.table import Table

_EVERY = 0.25
"""Seconds between two looks at the whole table: samples are taken in between."""


class Telling:
    """Called with what is done now."""

    def __init__(self, say: Callable[..., None], table: Table, is_whole: bool) -> None:
        self._say, self._table = say, table
        self._is_whole = is_whole
        """Whether every configuration will be looked at: only then it is known how many are left."""
        self._looked = 0.0
        self._facts: dict[str, Any] = {}

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if now - self._looked >= _EVERY:
            self._looked, self._facts = now, self._look()
        self._say(text, **self._facts)

    def _look(self) -> dict[str, Any]:
        states: Counter[str] = Counter(row.state for row in self._table.rows.values())
        best = min((min(row.seconds) for row in self._table.rows.values() if row.seconds), default=None)
        parts = [f"{states[state]} {state}" for state in ("measured", "pruned", "equal", "failed") if states[state]]
        parts += [f"best {best * 1e3:.4g} ms"] if best is not None else []
        facts: dict[str, Any] = {"note": ", ".join(parts)}
        if self._is_whole:
            waiting = states["compiled"] if states["measured"] else 0
            facts |= {"done": len(self._table.rows) - waiting, "total": len(self._table.configs)}
        return facts
