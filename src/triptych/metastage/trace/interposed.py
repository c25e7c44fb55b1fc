"""Interposed code: whether the traced program runs, or code that Python runs in between.

Between any two instructions Python may run code that the program has not called: signal handlers, `__del__`, callbacks
of weak references and of the garbage collector, trace, profile and audit hooks. Libraries run such code too: handlers
of logs and warnings, finders and modules that an `import` runs. What it does belongs to no trace, and frames tell it
apart. Rewritten code calls hooks and nothing else, so anything else right above it was not called by it; the rest is
found by what runs it.
"""

from __future__ import annotations

import gc
import sys
from enum import Enum, auto
from functools import partial
from inspect import CO_GENERATOR
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodDescriptorType
from typing import Any

from triptych.hooks import PythonHooks
from triptych.metastage.trace import locations
from triptych.metastage.trace.user_code import class_entry
from triptych.support import interrupts

_OWN = __name__.partition(".")[0]
_OWN_GLOBALS: set[int] = set()
"""Identities of the namespaces of our modules, which live as long as the process."""
_RUNNERS = frozenset(
    {"asyncio", "atexit", "concurrent", "importlib", "logging", "threading", "warnings", "weakref", "_weakrefset"}
)
"""Packages of the standard library that run what was registered with them, whoever calls them."""


class Maker(Enum):
    """Who makes a call."""

    PROGRAM = auto()
    """The program itself."""
    LIBRARY = auto()
    """Code that Python runs for the program, while tracing."""
    NOBODY = auto()
    """Python, in between."""


def maker(frame: FrameType | None, called: CodeType | None = None) -> Maker:
    """Who runs in a frame, or has `called` something of ours that is called as any function is."""
    foreign = called
    while frame is not None:
        if id(frame.f_globals) in _OWN_GLOBALS or _is_own(frame):
            if frame.f_code is _DELIVERY:
                return Maker.NOBODY
            if foreign is not None:
                return Maker.LIBRARY if _is_asked(foreign) or _may_call(frame) else Maker.NOBODY
            if locations.is_floor(frame.f_code):
                return Maker.PROGRAM
        elif locations.is_program(frame.f_code):
            if foreign is None or not locations.is_rewritten(frame.f_code):
                return Maker.PROGRAM
            return Maker.LIBRARY if _is_asked(foreign) else Maker.NOBODY
        elif _is_run_in_between(frame):
            return Maker.NOBODY
        else:
            foreign = frame.f_code
        frame = frame.f_back
    return Maker.LIBRARY


def is_interposed(frame: FrameType | None) -> bool:
    """Whether Python runs the frame in between. Asked for every operation: the usual answer is found in few steps."""
    start, own = frame, _OWN_GLOBALS
    while frame is not None and id(frame.f_globals) in own:
        frame = frame.f_back
    if frame is not None and id(frame.f_code) in locations.CODES:
        return False
    return maker(start) is Maker.NOBODY


_DELIVERY = interrupts._deliver.__code__


def _is_own(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__")
    if isinstance(name, str) and name.partition(".")[0] == _OWN and name in sys.modules:
        if name != interrupts.__name__:  # which delivers signals
            _OWN_GLOBALS.add(id(frame.f_globals))
        return True
    return frame.f_code.co_filename.startswith("<guard")


def _is_asked(code: CodeType) -> bool:
    """Whether Python asks such code for what an expression needs: special methods, iterators, hooks of a language."""
    is_special = code.co_name.startswith("__") and code.co_name.endswith("__")
    return is_special or bool(code.co_flags & CO_GENERATOR) or hasattr(PythonHooks, code.co_name)


def _may_call(frame: FrameType) -> bool:
    """Whether a frame of ours may run code that is not: one that calls a function of C for the program does so only
    if the function is given something to call, or an iterator, which may have something."""
    if frame.f_code.co_name not in _CALLING:
        return True
    given = frame.f_locals
    if not isinstance(given.get("function"), BuiltinFunctionType | MethodDescriptorType):
        return True
    passed = (*given.get("args", ()), *given.get("kwargs", {}).values())
    return any(callable(value) or hasattr(type(value), "__next__") for value in passed)


_CALLING = ("opaque_call", "_watched")
"""What makes the calls that Python makes for the program."""


def _is_run_in_between(frame: FrameType) -> bool:
    """Whether a frame outside of the framework and of the program is known to be called by Python itself."""
    code = frame.f_code
    if code.co_name == "__del__" or str(frame.f_globals.get("__name__")).partition(".")[0] in _RUNNERS:
        return True
    return any(code is _code_of(hook) for hook in (sys.gettrace(), sys.getprofile(), *gc.callbacks))


# Any: whatever can be called.
def _code_of(called: Any) -> CodeType | None:
    while isinstance(called, partial):
        called = called.func
    called = getattr(called, "__func__", called)
    called = called if isinstance(called, FunctionType) else class_entry(type(called), "__call__")
    return getattr(called, "__code__", None)
