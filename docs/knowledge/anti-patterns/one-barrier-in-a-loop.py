"""Evidence: findings of the checkers, and barriers of the versions that are right."""

from __future__ import annotations

from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts, findings


def counted(page: ModuleType) -> Rows:
    """The faulty version, and the two ways out."""
    versions = {
        "one barrier, one buffer": lambda: page.launch(page.x, page.y, 1, 1),
        "two barriers, one buffer": lambda: page.launch(page.x, page.y, 1, 2),
        "one barrier, two buffers": lambda: page.launch(page.x, page.y, 2, 1),
    }
    costs = counts(versions, ("barriers", "shared bytes of a block"))
    return [found | cost for found, cost in zip(findings(versions), costs, strict=True)]
