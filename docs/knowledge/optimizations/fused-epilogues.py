"""Evidence: an activation in a launch of its own and in front of the store, counted and measured."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from triptych.workbench.knowledge.evidence import Rows, compared, counts


def counted(page: ModuleType) -> Rows:
    """4,096 elements."""
    versions = {
        "separate": lambda: page.separate(page.x, page.y, page.out),
        "fused": lambda: page.fused(page.x, page.y, page.out),
    }
    return counts(versions, ("launches", "global requests", "global sectors", "warp instructions"))


def measured(page: ModuleType) -> Rows:
    """Tensors of sixteen megabytes."""
    x, y, out = (np.ones(1 << 22, np.float32) for _ in range(3))
    return compared({"separate": lambda: page.separate(x, y, out), "fused": lambda: page.fused(x, y, out)})
