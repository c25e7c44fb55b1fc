"""Evidence: live registers and instructions by the elements that a thread has at once, counted."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts


def counted(page: ModuleType) -> Rows:
    """One warp and 256 elements of each lane."""
    versions = {f"elements: {n}": partial(page.iterate, page.x, page.y, n) for n in (1, 16, 64, 256)}
    return counts(versions, ("live registers", "PTX instructions", "warp instructions"))
