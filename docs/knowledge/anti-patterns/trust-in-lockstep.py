"""Evidence: findings and costs of a warp's sum with and without its orders, and by shuffles."""

from __future__ import annotations

from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts, findings


def counted(page: ModuleType) -> Rows:
    """One warp."""
    versions = {
        "shared memory, trust": lambda: page.sum_through_memory(page.x, page.y, False),
        "shared memory, `sync_warp`": lambda: page.sum_through_memory(page.x, page.y, True),
        "shuffles": lambda: page.sum_by_shuffles(page.x, page.y),
    }
    costs = counts(versions, ("barriers", "shared wavefronts", "warp instructions"))
    return [found | cost for found, cost in zip(findings(versions), costs, strict=True)]
