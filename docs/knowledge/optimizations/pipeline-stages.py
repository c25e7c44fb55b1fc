"""Evidence: a loop over tiles with one to four stages, counted."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts


def counted(page: ModuleType) -> Rows:
    """Sixteen tiles."""
    versions = {f"stages: {n}": partial(page.launch, page.x, page.y, n) for n in (1, 2, 3, 4)}
    columns = ("global loads", "shared stores", "asynchronous copies", "barriers", "shared bytes of a block")
    return counts(versions, columns)
