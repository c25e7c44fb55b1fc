"""`with` in traced code: what a context manager of the user's does on the way in and out is traced like a call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Any

from triptych.metastage.errors import TraceTimeEffectError
from triptych.metastage.tracing import place
from triptych.metastage.user_code import is_own
from triptych.support.articles import with_article


class TracedContext:
    """Enters and leaves a manager by traced calls."""

    def __init__(self, manager: contextlib.AbstractContextManager[object], call: Callable[..., Any]) -> None:
        if isinstance(manager, contextlib.suppress):
            raise _suppresses(manager)
        self._manager = manager
        self._call = _directly if _is_generator_of_ours(manager) else call

    def __enter__(self) -> Any:
        return self._call(type(self._manager).__enter__, self._manager)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Any:
        if kind is not None:  # raised while tracing: Python's own business
            return self._manager.__exit__(kind, error, traceback)
        if self._call(type(self._manager).__exit__, self._manager, None, None, None) is True:
            raise _suppresses(self._manager)
        return None


def _is_generator_of_ours(manager: object) -> bool:
    """Whether it is a function of the language that `contextmanager` decorates."""
    return type(manager) is contextlib._GeneratorContextManager and is_own(manager.func)


def _directly(function: Callable[..., Any], *args: object) -> Any:
    """For a generator of the language's own (`with elect_one():`), which says itself what happens when it runs."""
    return function(*args)


def _suppresses(manager: object) -> TraceTimeEffectError:
    return TraceTimeEffectError(
        "a `with` statement that suppresses exceptions",
        span=place(),
        found=f"{with_article(type(manager).__name__)}, while compiled code has no exceptions to catch",
        expected="a context manager that lets exceptions pass",
        instead="test the condition first (`if d != 0:`), or handle exceptions in the caller",
    )
