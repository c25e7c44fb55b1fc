"""Evidence: calls of a decorated function and of its compiled form, measured."""

from __future__ import annotations

from types import ModuleType

from triptych.workbench.knowledge.evidence import Rows, compared


def measured(page: ModuleType) -> Rows:
    """Whole calls of a kernel of one warp; a factor of one keeps the numbers."""
    compiled = page.cute.compile(page.step, page.x, 1.0)
    return compared(
        {
            "decorated, array": lambda: page.step(page.array, 1.0),
            "decorated, tensor made once": lambda: page.step(page.x, 1.0),
            "compiled, tensor made once": lambda: compiled(page.x),
        }
    )
