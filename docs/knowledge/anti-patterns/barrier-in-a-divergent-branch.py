"""Evidence: findings for sizes that all threads take, and for others."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, findings


def counted(page: ModuleType) -> Rows:
    """A full block, and one whose second warp comes in part."""
    places = {"inside of the branch": True, "behind the branch": False}
    return findings(
        {
            f"n = {n}, barrier {name}": partial(page.reverse, page.x, page.y, n, inside)
            for name, inside in places.items()
            for n in (64, 40)
        }
    )
