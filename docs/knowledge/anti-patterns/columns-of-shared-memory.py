"""Evidence: wavefronts of column accesses by the row length of the tile, counted."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts


def counted(page: ModuleType) -> Rows:
    """Row lengths with other common divisors with the banks."""
    versions = {f"row length {n}": partial(page.columns, page.y, n) for n in (32, 33, 34, 36, 40, 48, 64)}
    return counts(versions, ("shared requests", "shared wavefronts", "bank conflicts"))
