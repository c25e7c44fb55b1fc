"""Evidence: tiles that all threads copy, and tiles that one warp asks TMA for, counted."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts


def counted(page: ModuleType) -> Rows:
    """One block."""
    ways = {"copies by all threads": False, "TMA by one warp": True}
    versions = {name: partial(page.sums, page.x, page.y, way) for name, way in ways.items()}
    columns = ("global loads", "shared stores", "asynchronous copies", "barriers", "shared bytes of a block")
    return counts(versions, columns, "sm_90a")
