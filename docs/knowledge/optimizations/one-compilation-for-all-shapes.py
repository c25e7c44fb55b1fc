"""Evidence: programs that are compiled for twelve lengths, counted."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from triptych.workbench.knowledge.evidence import Rows, compilations


def counted(page: ModuleType) -> Rows:
    """Of an element type that the page itself has not compiled for."""
    sizes = [2**k for k in range(12)]
    return compilations(
        {
            "static shapes": lambda: page.with_static_shapes(sizes, np.float32),
            "dynamic shapes": lambda: page.with_dynamic_shapes(sizes, np.float32),
        }
    )
