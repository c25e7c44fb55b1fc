"""Evidence: findings for right and wrong parities of a ring of one stage."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, findings


def counted(page: ModuleType) -> Rows:
    """Two warps, four steps."""
    sides = {
        "both flip": (page.flips, page.flips_from_one),
        "the consumer's is constant": (page.constant, page.flips_from_one),
        "the producer's is constant": (page.flips, page.constant),
        "both begin alike": (page.flips, page.flips),
    }
    return findings({name: partial(page.ring, page.x, page.y, *sides) for name, sides in sides.items()})
