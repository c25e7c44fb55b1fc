"""Evidence: softmax in three passes and in two, counted and measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType

import numpy as np

from triptych.workbench.knowledge.evidence import Rows, compared, counts


def versions(page: ModuleType, x: np.ndarray) -> dict[str, Callable[[], object]]:
    """Calls of both kernels."""
    y = np.empty_like(x)
    kernels = {"three passes": page.in_three_passes, "online": page.online}
    return {name: partial(page.softmax, x, y, kernel) for name, kernel in kernels.items()}


def counted(page: ModuleType) -> Rows:
    """Two rows."""
    return counts(
        versions(page, page.x), ("global requests", "global sectors", "special functions", "warp instructions")
    )


def measured(page: ModuleType) -> Rows:
    """A larger matrix."""
    return compared(versions(page, np.zeros((64, 4096), np.float32)))
