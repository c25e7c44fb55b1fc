"""Evidence: compilations and times of a function made once and made in each call."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from triptych.support.config import override
from triptych.workbench.knowledge.evidence import Rows, compared, compilations


def counted(page: ModuleType) -> Rows:
    """Eight calls."""

    def often(call: Callable[[object], None]) -> Callable[[], None]:
        def eight_times() -> None:
            for _ in range(8):
                call(page.x)

        return eight_times

    return compilations({"at module level": often(page.scale), "in the call": often(page.scale_once_more)})


def measured(page: ModuleType) -> Rows:
    """One call."""
    with override(cache=False):
        return compared(
            {"at module level": lambda: page.scale(page.x), "in the call": lambda: page.scale_once_more(page.x)}
        )
