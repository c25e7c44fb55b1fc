"""All that a static layout reaches, as an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from triptych.layout import Layout
from triptych.layout.coalescing import leaf_pairs


def places(layout: Layout) -> Any:
    """What the layout gives for each of its coordinates, in their order."""
    found = np.zeros(1, np.int64)
    for extent, stride in leaf_pairs(layout):
        assert isinstance(extent, int), "a static layout"
        assert isinstance(stride, int), "a static layout of integers"
        found = (found[None] + np.arange(extent)[:, None] * stride).reshape(-1)
    return found
