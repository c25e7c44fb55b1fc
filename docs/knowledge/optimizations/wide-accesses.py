"""Evidence: the same kernel on tensors with and without a promised alignment, counted."""

from __future__ import annotations

from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts


def counted(page: ModuleType) -> Rows:
    """Eight blocks of each."""
    versions = {
        "multiple of an element": lambda: page.scale(page.x, page.y),
        "multiple of 16 bytes": lambda: page.scale(page.aligned(page.x), page.aligned(page.y)),
    }
    return counts(versions, ("global requests", "global sectors", "warp instructions"))
