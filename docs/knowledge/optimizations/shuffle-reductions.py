"""Evidence: a sum of a block by a tree in shared memory and by shuffles, counted and measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, compared, counts


def versions(page: ModuleType) -> dict[str, Callable[[], object]]:
    """Calls of both kernels."""
    kernels = {"tree in shared memory": page.by_tree, "shuffles": page.by_shuffles}
    return {name: partial(page.reduce, page.x, page.out, kernel) for name, kernel in kernels.items()}


def counted(page: ModuleType) -> Rows:
    """One block of each."""
    columns = ("barriers", "shared wavefronts", "shared bytes of a block", "shuffles and votes", "warp instructions")
    return counts(versions(page), columns)


def measured(page: ModuleType) -> Rows:
    """Whole calls."""
    return compared(versions(page))
