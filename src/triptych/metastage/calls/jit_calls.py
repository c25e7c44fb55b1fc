"""JIT calls that Python makes while a program is traced: which of them the program makes.

Rewritten code asks a hook for every call. What arrives at a compiled function by Python's own call comes from code
that is not rewritten: the program's (`preprocessor=False`), a library's that the program has called, or code that
Python runs in between. A call is traced if the program makes it, or has handed over what it is made of: run-time
values, or the function. All other calls are Python's, made while tracing, and nothing of them is in the program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from triptych.metastage.control_flow.join_plans import has_dynamic
from triptych.metastage.trace import effects
from triptych.metastage.trace.interposed import Maker, maker
from triptych.metastage.trace.trace import Trace, in_progress, suspended
from triptych.metastage.values.scalars import Numeric
from triptych.support.tracebacks import is_framework

_HANDED = "handed functions"
"""Compiled functions that the program has given to code that Python runs for it, by id."""


def trace_of_call(called: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Trace | None:
    """The trace that a call of a compiled function belongs to, if any; asked by what Python has called."""
    trace = in_progress()
    if trace is None:
        return None
    made_by = maker(_caller(), called=_caller.__code__)
    if made_by is Maker.PROGRAM:
        return trace
    is_handed = made_by is Maker.LIBRARY and (
        id(called) in trace.tables[_HANDED] or any(map(_is_of_a_run, (*args, *kwargs.values())))
    )
    return trace if is_handed else None


def _is_of_a_run(value: object) -> bool:
    """Whether a value is one of the program's, and no typed constant."""
    return value.is_dynamic if isinstance(value, Numeric) else has_dynamic(value)


def _caller() -> Any:
    """The frame that made the call: below those of the function's own `__call__`, one for each warm call."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_name in _OF_THE_CALL and is_framework(frame):
        frame = frame.f_back
    return frame


_OF_THE_CALL = ("_run", "__call__")


def hand_over(trace: Trace, given: object, depth: int = 2) -> None:
    """Remember compiled functions in what the program gives to code that Python runs for it."""
    if hasattr(type(given), "__traced_call__"):
        trace.tables[_HANDED][id(given)] = given
    elif isinstance(given, partial):
        hand_over(trace, given.func, depth)
    elif depth and isinstance(given, list | tuple | dict):
        for part in given.values() if isinstance(given, dict) else given:
            hand_over(trace, part, depth - 1)


@contextmanager
def outside() -> Iterator[None]:
    """Do what belongs to no trace: none is in progress, and what a trace may not touch is free."""
    if in_progress() is None:
        yield
        return
    with suspended(), effects.touchable_world():
        yield
