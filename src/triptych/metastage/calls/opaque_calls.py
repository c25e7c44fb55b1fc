"""Opaque calls, of code that the rewriter does not see into: library functions, builtins, functions without source, JIT
functions that Python calls meanwhile. Python makes them once while the program is traced, or the program makes them.
"""

from __future__ import annotations

import functools
import gc
import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar

from triptych.metastage.calls.call_local import note_read
from triptych.metastage.calls.repeatability import (
    note_answer,
    note_call,
    note_met,
    note_text,
    only_fills_fields,
    unrepeatable,
)
from triptych.metastage.calls.side_effects import SideEffectTracker, is_settled
from triptych.metastage.control_flow import mutation
from triptych.metastage.control_flow.join_plans import has_dynamic
from triptych.metastage.control_flow.object_identity import check_unasked
from triptych.metastage.control_flow.object_joins import check_unmerged, has_state, merged_among
from triptych.metastage.trace import effects
from triptych.metastage.trace.errors import DynamicMutationError, TraceTimeEffectError
from triptych.metastage.trace.interposed import Maker, maker
from triptych.metastage.trace.trace import Region, Trace, active, in_progress, place, suspended
from triptych.metastage.trace.user_code import is_own
from triptych.metastage.values.dynamic_text import DynamicText
from triptych.metastage.values.scalars import Numeric
from triptych.support.tracebacks import is_framework
from triptych.support.wording import with_article

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


_PYTHON_LOOPS = "__triptych_python_loops__"


def with_python_loops(function: object) -> None:
    """Have each `for` of a function of the user's run while tracing, wherever it is called from traced code."""
    vars(function)[_PYTHON_LOOPS] = True


def loops_in_python(function: object) -> bool:
    """Whether that was said of it."""
    return getattr(function, _PYTHON_LOOPS, False) is True


HIGHER_ORDER: frozenset[Any] = frozenset(
    {map, filter, sorted, min, max, functools.reduce, itertools.accumulate, itertools.takewhile, itertools.dropwhile}
    | {itertools.starmap, itertools.filterfalse, itertools.groupby}
)
"""Functions that call a function they are given: one of the user's is rewritten for them."""

ONCE = "`tt.at_trace_time({name}, ...)` if it is meant once, while tracing"


def opaque_call(trace: Trace, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call it now, and refuse what would be lost by having happened only once."""
    _check_texts(function, (*args, *kwargs.values()))
    note_call(trace, function, args, kwargs, _name(function))
    if is_meant_once(function):
        unrepeatable(trace, f"`{_name(function)}` is meant once, while tracing")
    if is_own(function) or is_own(type(function)) or is_meant_once(function):
        if is_meant_once(function):
            trace.repetition.do_once()
        result = function(*args, **kwargs)
    else:
        _check_reading(function)
        for value in (*args, *kwargs.values()):
            note_read(trace, value)
            hand_over(trace, value)
        _check_iterators(trace, function, args)
        merged = merged_among(trace, _given(function, args, kwargs))
        check_unasked(trace, function, merged)
        states = SideEffectTracker(filter(has_state, merged))
        if not trace.region.dynamic or _is_harmless(function, args, kwargs):
            result = trace.repetition.output.printing(function, kwargs)(*args, **kwargs)
        else:
            result = _watched(trace, function, args, kwargs)
        for changed in states.changed():
            check_unmerged(trace, changed, f"`{_name(function)}`")
    note_answer(trace, function, args, kwargs, result, _name(function))
    if not is_settled(type(result)):
        # Nobody else knows it: the call made it.
        if sys.getrefcount(result) <= 2 and not _shares_memory(result, function, args):
            note_made(trace, result)
        else:
            note_met(trace, function, result, _name(function))
    return result


def _check_texts(function: object, given: tuple[Any, ...]) -> None:
    """The text of a run-time value goes where people read it: what is printed, logged or raised."""
    text = next((value for value in given if type(value) is DynamicText), None)
    if text is None or function is print or (isinstance(function, type) and issubclass(function, BaseException)):
        return
    if effects.reaches(function) != effects.LOG:
        raise text.refusal


def _shares_memory(result: object, function: object, args: tuple[Any, ...]) -> bool:
    """Whether a new object is another view of memory that was there before."""
    kind = type(result)
    if kind is memoryview or getattr(result, "base", None) is not None:
        return True
    return kind.__module__ == "torch" and any(type(x) is kind for x in (*args, getattr(function, "__self__", None)))


def native_operation(trace: Trace, function: Callable[[Any, Any], Any], left: object, right: object) -> Any:
    """An operator that Python evaluates; objects of the user's that containers hold may have a say in it."""
    if trace.region.dynamic and not (_is_inert(left) and _is_inert(right)):
        return opaque_call(trace, function, (left, right), {})
    result = function(left, right)
    return note_text(trace, result, right) if type(left) is str and type(result) is str else result


def _is_harmless(function: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is known to be pure, with arguments that run no code of the user's."""
    if effects.asks_logger(function):
        return True
    if not effects.is_pure(function) and not only_fills_fields(function, args):
        return False
    return all(map(_is_inert, args)) and all(map(_is_inert, kwargs.values()))


# Any: told apart by its exact class.
def _is_inert(value: Any) -> bool:
    kind = type(value)
    if is_settled(kind) or isinstance(value, type | FunctionType):
        return True
    if kind in (list, tuple, set, frozenset):
        return len(value) <= 64 and all(map(_is_inert, value))
    return kind is dict and len(value) <= 64 and all(map(_is_inert, value.values()))


def _watched(trace: Trace, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    reached = effects.reaches(function)
    if reached:
        raise _world(trace.region, function, f"a call that reaches {reached}")
    watch = SideEffectTracker([function, *_given(function, args, kwargs)])
    if watch.unseen is not None:
        kind = type(watch.unseen).__name__
        raise _world(trace.region, function, f"a call that could change {with_article(kind)}, which cannot be watched")
    try:
        with effects.untouched_world():
            result = trace.repetition.output.printing(function, kwargs)(*args, **kwargs)
    except effects.WorldTouchedError as touched:
        raise _world(trace.region, function, f"{touched}, which would happen while tracing") from None
    except SystemExit:
        raise _world(trace.region, function, "a call that ends the process") from None
    for changed in watch.changed():
        if not mutation.is_made_here(trace, changed):
            raise mutation.refusal(trace, changed, f"`{_name(function)}`", _instead(function))
    return result


def _given(function: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """What a call is given, the object of a bound method among it."""
    receiver = getattr(function, "__self__", None)
    return [*args, *kwargs.values(), *(() if receiver is None or isinstance(receiver, ModuleType) else (receiver,))]


# reading what is different each time -------------------------------------------------------------------------------
def _check_reading(function: object) -> None:
    """Clocks and random numbers are refused everywhere: once, while tracing, is never what was meant."""
    frozen = effects.freezes(function)
    if frozen:
        raise TraceTimeEffectError(
            f"`{_name(function)}` would be called once, while tracing",
            span=place(),
            found=f"a call that reads {frozen}",
            expected="values that stay the same, or run-time values",
            instead="an argument, computed by the caller; or " + ONCE.format(name=_name(function)),
        )


def _check_iterators(trace: Trace, function: object, args: tuple[Any, ...]) -> None:
    owner = getattr(function, "__self__", None)
    iterators = [value for value in (*args, owner) if hasattr(type(value), "__next__") and not is_own(type(value))]
    if iterators and effects.advances(function):
        for iterator in iterators:
            check_advance(trace, iterator)


def check_advance(trace: Trace, iterator: object) -> None:
    """Refuse to advance an iterator where only the run knows whether it happens, or how far it had come."""
    for reached in _iterators_behind(iterator):
        left = trace.abandoned.get(id(reached))
        if left is not None:
            raise DynamicMutationError(
                "an iterator is used again after a loop over it that is left at run time",
                span=place(),
                found=f"{with_article(type(reached).__name__)}, which only the run knows how far it has come",
                expected="an iterator that no run-time `break` or `return` has left",
                instead="a new iterator, or a loop over indices: `for i in range(len(items))`",
                related=[("the loop that is left", left[1])] if left[1] is not None else [],
            )
        if trace.region.dynamic and not mutation.is_made_here(trace, reached):
            raise mutation.refusal(trace, reached, "advancing an iterator", "a run-time counter and `items[counter]`")


def abandon(trace: Trace, iterator: object) -> None:
    """A loop over the iterator is left at run time: where it stands then, tracing cannot know."""
    for reached in _iterators_behind(iterator):
        trace.abandoned[id(reached)] = (reached, place())


def note_made(trace: Trace, made: object) -> None:
    """Remember an object that was just made, and the iterators that only it holds: `zip((1, 2), ...)` makes some."""
    mutation.note_fresh(trace, made)
    if not hasattr(type(made), "__next__"):
        return
    behind = _iterators_behind(made)[1:]
    for inner in behind:
        if sys.getrefcount(inner) <= 4:  # the holder, the list, the variable, and the question
            mutation.note_fresh(trace, inner)


def _iterators_behind(iterator: object) -> list[Any]:
    """The iterator and those that it draws from: `zip(it, ...)` advances `it`."""
    found, seen = [iterator], {id(iterator)}
    for current in found:
        for held in gc.get_referents(current):
            inner = held if isinstance(held, tuple | list) and len(held) <= 64 else (held,)
            for value in inner:
                if id(value) not in seen and hasattr(type(value), "__next__") and not is_own(type(value)):
                    seen.add(id(value))
                    found.append(value)
    return found


# errors -------------------------------------------------------------------------------------------------------------
def _world(region: Region, function: object, found: str) -> TraceTimeEffectError:
    return TraceTimeEffectError(
        f"`{_name(function)}` inside a {region.what} that is decided at run time",
        span=place(),
        found=f"{found}, once, while tracing" if not found.endswith("tracing") else found,
        expected="calls that change nothing, or `printf` and stores, which the program does when it runs",
        instead=_instead(function),
        related=[(f"the {region.what}", region.span)] if region.span is not None else [],
    )


def _instead(function: object) -> str:
    return ONCE.format(name=_name(function))


def _name(function: object) -> str:
    name = getattr(function, "__name__", None) or type(function).__name__
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):
        return f"{owner.__name__ if isinstance(owner, type) else type(owner).__name__}.{name}"
    module = getattr(function, "__module__", None)
    if module in (None, "builtins", "__main__") or isinstance(function, FunctionType):
        return name
    return f"{str(module).lstrip('_')}.{name}"  # `warnings.warn` is a function of `_warnings`
