"""Evidence: one block of a matrix product by the square of each thread, counted; two examples, measured."""

from __future__ import annotations

from functools import partial
from types import ModuleType

import numpy as np

from triptych.workbench.knowledge.evidence import Rows, compared, counts, example


def counted(page: ModuleType) -> Rows:
    """Squares of three sides."""
    versions = {f"{each} x {each}": partial(page.product, each) for each in (1, 2, 4)}
    rows = counts(versions, ("float arithmetic", "shared wavefronts", "global sectors", "shared bytes of a block"))
    for row in rows:
        row["multiply-adds of a wavefront"] = (
            f"{int(str(row['float arithmetic'])) / int(str(row['shared wavefronts'])):.2f}"
        )
    return rows


def measured(page: ModuleType) -> Rows:
    """The example with tiles of blocks, and with tiles of threads."""
    del page
    gemm = example("gemm")
    a, b, c = (np.ones((256, 256), np.float32) for _ in range(3))
    return compared({name: partial(run, a, b, c) for name, run in gemm.WAYS.items()})
