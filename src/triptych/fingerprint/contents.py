"""Contents of values: objects that are windows to something else, and functions that answer from state.

A view shows a dictionary that it does not own, a weak reference an object that it does not keep alive, a context
variable what is set in this thread. `os.getenv` and `decimal.Decimal` are pinned by a release, and yet what they answer
depends on a state that is not: those are listed here. Other state of pinned libraries is not watched (see the guide).
"""

from __future__ import annotations

import copyreg
import os
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import FunctionType
from typing import Any

from triptych.fingerprint.releases import release
from triptych.support.config import process_environment

_MAPPINGS: tuple[Any, ...] = ({}, OrderedDict())

VIEWS: tuple[type, ...] = tuple(type(view()) for each in _MAPPINGS for view in (each.keys, each.values, each.items))
"""Each has the dictionary that it shows as `mapping`."""

WEAK: Mapping[type, Callable[[Any], object]] = {
    weakref.ReferenceType: lambda value: value(),
    weakref.WeakValueDictionary: lambda value: tuple(value.items()),
    weakref.WeakKeyDictionary: lambda value: tuple(value.items()),
    weakref.WeakSet: frozenset,
}
"""What they refer to now. Watching must not keep it alive."""

CURRENT: Mapping[type, Callable[[Any], object]] = {
    ContextVar: lambda value: value.get("no value in this context"),
    threading.local: lambda value: tuple(sorted(vars(value).items())),
}
"""What they hold where they are asked: in this thread, in this context."""

ENVIRONMENT = type(process_environment())


def _decimal_context() -> object:
    """Without the flags, which every operation raises."""
    context: Any = sys.modules["decimal"].getcontext()
    traps = tuple(sorted(signal.__name__ for signal, is_on in context.traps.items() if is_on))
    return context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp, traps


def _reducers() -> object:
    """How the user's classes are copied, where somebody has said so."""
    return tuple((kind, made) for kind, made in copyreg.dispatch_table.items() if release(kind.__module__) is None)


STATES: Mapping[tuple[str, str], Callable[[], object]] = {
    ("os", "getenv"): process_environment,
    ("os", "getenvb"): process_environment,
    (os.path.__name__, "expandvars"): process_environment,
    (os.path.__name__, "expanduser"): process_environment,
    (os.name, "getcwd"): os.getcwd,
    ("copy", "copy"): _reducers,
    ("copy", "deepcopy"): _reducers,
    ("decimal", "Decimal"): _decimal_context,
    ("decimal", "getcontext"): _decimal_context,
    ("_decimal", "getcontext"): _decimal_context,  # its name since Python 3.13
}
"""What functions and classes of these names answer from, besides their arguments."""


_COMPARED = frozenset({bool, int, float, str, bytes, tuple, list, dict})


def same_state(now: object, then: object) -> bool:
    """Whether two answers of an entry of `STATES` are one; what is inside an object is watched by itself."""
    return now is then or (type(now) is type(then) and type(now) in _COMPARED and now == then)


NAMESPACE_READERS = (globals, eval, exec)
"""Builtins that find names of a module without mentioning them."""


def namespace_behind(function: FunctionType) -> object:
    """What `globals()` and `eval(...)` can find: the module of the function, or the dictionary it runs in."""
    module = sys.modules.get(str(function.__globals__.get("__name__")))
    return module if module is not None and vars(module) is function.__globals__ else function.__globals__
