"""Context managers in traced code: what `with` does on the way in and out is traced like a call.

A manager of the language may open a region: at run time its block runs once, never, or many times. Rewritten code
hands such a block over with its variables, as it does the sides of an `if`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Protocol, cast

from triptych.hooks import Get, Hooks, Names, Set, Thunk
from triptych.metastage.trace import locations
from triptych.metastage.trace.errors import BlockError, TraceTimeEffectError
from triptych.metastage.trace.trace import place
from triptych.metastage.trace.user_code import is_own
from triptych.support.tracebacks import caller, is_framework
from triptych.support.wording import with_article


class Block(Protocol):
    """A context manager that decides at run time how often its block runs."""

    def __within__(self, hooks: Hooks, body: Thunk, names: Names, get: Get, set_: Set) -> None:
        """Trace the block, which assigns the named variables."""


def block_of(contexts: tuple[object, ...]) -> Block | None:
    """The manager among the entered ones that opens a region, if one does."""
    found = [context for context in contexts if hasattr(type(context), "__within__")]
    if found and contexts[-1] is not found[0]:
        raise BlockError(
            "a `with` statement enters other contexts inside a block that the program decides about",
            span=place(),
            found=f"{len(contexts)} context managers in one `with`",
            expected="the one that decides by itself, or as the last one",
            instead="a `with` statement of its own for each",
        )
    return cast(Block, found[0]) if found else None


def require_seen(what: str, frame: FrameType) -> bool:
    """Whether rewritten code enters the block, which then hands it over; refuse other code of the program."""
    if locations.is_rewritten(frame.f_code):
        return True
    if is_framework(frame) or frame.f_globals.get("__name__") == contextlib.__name__:
        return False
    raise BlockError(
        f"`with {what}:` in code that is not rewritten",
        span=place() or caller(),
        found=f"{frame.f_code.co_name}, which Python runs as it is",
        expected="a block whose assignments and exits the compiler sees",
        instead="the same in a function that is rewritten: with source, and without `preprocessor=False`",
    )


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
    """For a generator of the language's own, which says itself what happens when it runs."""
    return function(*args)


def _suppresses(manager: object) -> TraceTimeEffectError:
    return TraceTimeEffectError(
        "a `with` statement that suppresses exceptions",
        span=place(),
        found=f"{with_article(type(manager).__name__)}, while compiled code has no exceptions to catch",
        expected="a context manager that lets exceptions pass",
        instead="test the condition first (`if d != 0:`), or handle exceptions in the caller",
    )
