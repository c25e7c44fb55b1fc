"""Evidence: a transposed tile in three layouts, counted."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts


def counted(page: ModuleType) -> Rows:
    """One block of each layout."""
    layouts = {"plain": page.PLAIN, "padded": page.PADDED, "swizzled": page.SWIZZLED}
    versions = {name: partial(page.transpose, page.a, page.b, layout) for name, layout in layouts.items()}
    columns = ("shared wavefronts", "bank conflicts", "shared bytes of a block", "warp instructions")
    return counts(versions, columns)
