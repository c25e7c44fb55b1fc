"""Evidence: shared bytes and blocks of a multiprocessor by the number of stages, counted."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts


def counted(page: ModuleType) -> Rows:
    """Up to what a block may have."""
    versions = {f"stages: {n}": partial(page.staged, page.x, n) for n in (1, 2, 3, 4, 6, 8)}
    return counts(versions, ("shared bytes of a block", "blocks on an SM"))
