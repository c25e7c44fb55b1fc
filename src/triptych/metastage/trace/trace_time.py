"""Trace-time calls: Python makes them once while the program is traced, not each time it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from triptych.metastage.trace.trace import active

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
Marked = TypeVar("Marked", bound=Callable[..., Any])

MARK = "__at_trace_time__"


def at_trace_time(
    function: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """`function(*args, **kwargs)`, once, now: also where a run-time condition decides whether the program gets here.

    In plain Python it is the call itself. What it reads is nobody else's to know, so the program is compiled by each
    process that needs it.
    """
    trace = active()
    if trace is not None:
        name = getattr(function, "__name__", "at_trace_time")
        trace.unrepeatable = trace.unrepeatable or f"`{name}` is called through `at_trace_time`"
        trace.repetition.do_once()
    return function(*args, **kwargs)


def trace_time(function: Marked) -> Marked:
    """Decorates a function of a library whose calls in traced code are all meant once, while tracing."""
    setattr(function, MARK, True)
    return function


def is_meant_once(function: object) -> bool:
    """Whether calls of a function are said to happen while tracing."""
    return getattr(function, MARK, False) is True
