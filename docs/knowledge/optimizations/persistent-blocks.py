"""Evidence: a block for each tile and blocks that loop over tiles, counted and measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, compared, counts


def versions(page: ModuleType) -> dict[str, Callable[[], object]]:
    """Calls with as many blocks as tiles, and with four."""
    grids = {"a block for each tile": page.TILES, "four persistent blocks": 4}
    return {name: partial(page.launch, page.table, page.keys, page.out, n) for name, n in grids.items()}


def counted(page: ModuleType) -> Rows:
    """All blocks."""
    columns = ("blocks", "barriers", "global sectors", "warp instructions", "warp instructions of the longest block")
    return counts(versions(page), columns)


def measured(page: ModuleType) -> Rows:
    """Whole calls."""
    return compared(versions(page))
