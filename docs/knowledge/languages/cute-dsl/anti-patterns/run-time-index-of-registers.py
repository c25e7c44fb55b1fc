"""Evidence: a sum over registers with a run-time and with a traced index, counted."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts


def counted(page: ModuleType) -> Rows:
    """Five of eight values."""
    ways = {"`range(n)`": False, "`range_constexpr` and a condition": True}
    versions = {name: partial(page.sums, page.x, page.y, 5, way) for name, way in ways.items()}
    return counts(versions, ("local requests", "PTX instructions", "warp instructions"))
