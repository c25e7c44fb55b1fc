"""Debugger hooks of a build for a debugger: `breakpoint()`, the stops between statements, and the call frames that a
stop shows, with the variables that Python's frames have.
"""

from __future__ import annotations

import builtins
import copy
import dataclasses
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from triptych.diagnostics.runtime_errors import DeviceBreakpointError
from triptych.hooks import DEAD, UNDEFINED, PythonHooks
from triptych.metastage.control_flow.join_plans import Partial, Pending
from triptych.metastage.debugger.breakpoints import StopFrame, break_place, new_site
from triptych.metastage.debugger.debug_variables import DebugVariables
from triptych.metastage.debugger.frame_values import Attributes, Kept, Missing, Shown, ShownParts
from triptych.metastage.trace import locations
from triptych.metastage.trace.trace import Trace
from triptych.metastage.trace.user_code import is_own
from triptych.metastage.values.aggregates import as_expression, is_dynamic_expression, may_have_values
from triptych.metastage.values.scalars import Numeric
from triptych.support.config import config
from triptych.support.errors import TriptychError, TriptychWarning

Maker = Callable[[Any, DebugVariables], Shown]
_MAKERS: dict[type, Maker] = {}
_DEEPEST = 4
_MOST_PARTS = 64
_UNSURE = Kept(Missing("not assigned on every path that leads here"))
_GONE = Kept(Missing("not kept: nobody reads it any more"))


def register_shown(cls: type, make: Maker) -> None:
    """Let debuggers show instances of a class: `make` keeps what they are made of."""
    _MAKERS[cls] = make


def _maker(cls: type) -> Maker | None:
    return next((_MAKERS[base] for base in cls.__mro__ if base in _MAKERS), None)


def stop_frames(frame: FrameType | None, snapshot: DebugVariables) -> tuple[StopFrame, ...]:
    """The frames of the kernel, the outermost first; their values are kept from here on."""
    groups = list(locations.functions(frame))[::-1]
    return tuple(_frame(depth, frames, snapshot) for depth, frames in enumerate(groups))


def _frame(depth: int, frames: list[FrameType], snapshot: DebugVariables) -> StopFrame:
    """One function; `frames` are its regions, the innermost first."""
    innermost = frames[0]
    variables: dict[str, Any] = {}
    for frame in reversed(frames):
        variables.update(frame.f_locals)
    code = innermost.f_code
    names: dict[str, Shown] = {}
    for name, value in variables.items():
        if name.startswith(("_tt", ".")) or value is UNDEFINED or value is DEAD:
            continue
        snapshot.at(depth, locations.root_of(code), name)
        names[name] = _shown_or_missing(value, snapshot)
    whole = frames[-1].f_code
    lines = whole.co_firstlineno, last_line(whole)
    return StopFrame(locations.name_of(code), locations.span_of(innermost), *lines, innermost.f_globals, names)


@lru_cache(maxsize=256)
def last_line(code: CodeType) -> int:
    """The last line of a function, with all that is defined in it."""
    own = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return max([own, *(last_line(const) for const in code.co_consts if isinstance(const, CodeType))])


def _shown_or_missing(value: object, snapshot: DebugVariables) -> Shown:
    if isinstance(value, Partial | Pending):
        return _UNSURE
    try:
        return shown(value, snapshot)
    except TriptychError:  # a value of a region that has ended: it is in no register any more
        return _GONE


def shown(value: Any, snapshot: DebugVariables, depth: int = 0) -> Shown:
    """How a value is shown; what of it is known at run time only is kept by the thread."""
    kind = type(value)
    make = _maker(kind)
    if make is not None:
        return make(value, snapshot)
    if isinstance(value, Numeric):
        return snapshot.number(value) if value._region is not None else Kept(value._value)
    if depth < _DEEPEST and _has_run_time_parts(value):
        return _taken_apart(value, snapshot, depth + 1)
    return Kept(copy.copy(value) if kind in (list, dict, set) else value)


def _has_run_time_parts(value: Any, depth: int = 0) -> bool:
    if isinstance(value, Numeric):
        return value._region is not None
    if _maker(type(value)) is not None:
        return True
    if depth >= _DEEPEST or isinstance(value, type):
        return False
    if is_dynamic_expression(value):
        return may_have_values(value) and bool(as_expression(value).__extract_mlir_values__())
    return any(_has_run_time_parts(part, depth + 1) for part in _parts(value))


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list) and len(value) <= _MOST_PARTS:
        yield from value
    elif type(value) is dict and len(value) <= _MOST_PARTS:
        yield from value.values()
    else:
        yield from _attributes(value).values()


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes that an instance of a class written in Python has."""
    if callable(value) or type(value).__module__ in ("builtins", "types"):
        return {}
    found = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                found[name] = getattr(value, name)
    if dataclasses.is_dataclass(value):
        found |= {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return found if len(found) <= _MOST_PARTS else {}


def _taken_apart(value: Any, snapshot: DebugVariables, depth: int) -> Shown:
    if isinstance(value, tuple | list):
        kind = type(value)
        rebuild: Callable[[Any], Any] = kind._make if hasattr(kind, "_make") else kind
        return ShownParts([shown(part, snapshot, depth) for part in value], rebuild)
    if type(value) is dict:
        keys = list(value)
        parts = [shown(part, snapshot, depth) for part in value.values()]
        return ShownParts(parts, lambda values: dict(zip(keys, values, strict=True)))
    attributes = {name: shown(part, snapshot, depth) for name, part in _attributes(value).items()}
    return Attributes(type(value).__name__, attributes, is_own(type(value)))


class StoppingHooks(PythonHooks):
    """Answers the hooks of debuggers for one trace."""

    trace: Trace

    def stop(self) -> None:
        if self.trace.kernel is not None and self.trace.instrumentation.stops:
            _emit(self.trace, sys._getframe(1), is_breakpoint=False)

    def stopping(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if function is not builtins.breakpoint:
            return function
        trace = self.trace
        if trace.kernel is not None and trace.instrumentation.stops:
            return lambda *_args, **_keywords: _emit(trace, sys._getframe(1), is_breakpoint=True)
        if trace.kernel is not None and trace.instrumentation.stops is None:
            raise DeviceBreakpointError(
                "a thread of a GPU cannot stop for Python",
                span=locations.current_span(),
                found="`breakpoint()` in a kernel that is compiled for a GPU, with TRIPTYCH_DEBUG=break",
                expected="a kernel that is compiled for the CPU, whose threads can",
                instead="TRIPTYCH_TARGET=cpu in the environment, or `target='cpu'` where it is compiled",
            )
        _tell_of_tracing(trace.kernel is not None)
        return function


def _emit(trace: Trace, frame: FrameType, is_breakpoint: bool) -> None:
    """A stop of the thread: what its frames have is kept, then it may ask Python."""
    assert trace.kernel is not None, "host code does not stop"
    trace.unrepeatable = trace.unrepeatable or "a stop for a debugger, which only this process knows"
    snapshot = DebugVariables.of(trace)
    snapshot.begin()
    site = new_site(trace.kernel.name, stop_frames(frame, snapshot), is_breakpoint)
    named = break_place(config().break_)
    if named is not None and named.is_at(site.here.file, site.here.line):
        site.armed.value = 1
    snapshot.stop(site.number, site.switch)


def _tell_of_tracing(in_kernel: bool) -> None:
    place = locations.current_span()
    what = "TRIPTYCH_DEBUG=break in the environment compiles it: then the thread that comes here stops, with its values"
    if not in_kernel:
        what = (
            "host code of a compiled function has no stops when it runs: stop in the Python code that calls it, or put "
        )
        what += "breakpoint() into the kernel, with TRIPTYCH_DEBUG=break"
    text = f"breakpoint() stops here once, while the function is traced and no thread runs; {what}"
    warnings.warn_explicit(
        text, TriptychWarning, place.file if place is not None else __file__, place.line if place is not None else 1
    )
