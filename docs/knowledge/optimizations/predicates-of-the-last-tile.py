"""Evidence: guards for each element and for each vector, counted."""

from __future__ import annotations

from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts


def counted(page: ModuleType) -> Rows:
    """A tensor that is three elements too short."""
    versions = {
        "a guard for each element": lambda: page.scale(page.x, page.y, False),
        "a guard for each vector": lambda: page.scale(page.x, page.y, True),
    }
    return counts(versions, ("global requests", "global sectors", "warp instructions", "divergent branches"))
