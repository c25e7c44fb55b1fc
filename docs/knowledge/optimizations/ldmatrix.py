"""Evidence: fragments of a tile product by pairs of elements and by matrices, counted."""

from __future__ import annotations

from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, counts


def counted(page: ModuleType) -> Rows:
    """One warp."""
    ways = {"pairs of elements": False, "four matrices at once": True}
    versions = {name: partial(page.product, *page.tensors, whole) for name, whole in ways.items()}
    columns = ("shared loads", "ldmatrix and stmatrix", "matrix products", "shared wavefronts", "bank conflicts")
    return counts(versions, columns)
