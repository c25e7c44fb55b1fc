"""Evidence: a small product with a long k by its number of splits, counted."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts


def counted(page: ModuleType) -> Rows:
    """Both launches together."""
    versions = {f"splits: {n}": partial(page.run, n) for n in (1, 4, 16)}
    return counts(versions, ("blocks", "warp instructions of the longest block", "warp instructions", "global sectors"))
