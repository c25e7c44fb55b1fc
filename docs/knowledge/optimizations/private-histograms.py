"""Evidence: counts in global and in shared memory, counted; the example, measured."""

from __future__ import annotations

from functools import partial
from types import ModuleType

import numpy as np

from triptych.workbench.knowledge.evidence import Rows, compared, counts, example


def counted(page: ModuleType) -> Rows:
    """Four blocks."""
    kernels = {"global memory": page.global_counts, "shared memory": page.shared_counts}
    versions = {name: partial(page.histogram, page.data, page.bins, kernel) for name, kernel in kernels.items()}
    return counts(versions, ("global atomics", "shared atomics", "serialized atomics", "global sectors", "barriers"))


def measured(page: ModuleType) -> Rows:
    """A mebibyte of random bytes."""
    del page
    found = example("histogram")
    data, bins = np.random.default_rng(0).integers(0, 256, 1 << 20).astype(np.uint8), np.zeros(256, np.int32)
    return compared({name: partial(found.histogram, data, bins, kernel) for name, kernel in found.KERNELS.items()})
