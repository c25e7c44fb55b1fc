"""Repeatability of a trace: what another process might do otherwise, and what names in the source do not show.

Meta-stage: hooks tell of what Python does; a program that depends on one process (the order of a set, a hash, an
address, an answer of the system) is not for the store, and says why. What is read past the key is watched from then on.
"""

from __future__ import annotations

import codecs
import gc
import operator
import re
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import MISSING
from enum import Enum
from functools import partial, update_wrapper, wraps
from inspect import getattr_static, isdatadescriptor, ismemberdescriptor
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

from triptych.metastage.trace import effects, locations
from triptych.metastage.trace.trace import Trace
from triptych.metastage.trace.user_code import HEAP_TYPE, is_own, is_own_module, is_user_class, is_user_function
from triptych.stages import Found
from triptych.support.instances import has_own_order

_SETS = (set, frozenset, weakref.WeakSet)
_ORDER = "tracing shows the order of a set, which is another one in each process"
_ADDRESS = "tracing shows the address of an object"
_SHOWN_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")
_MOST_LOOKED_AT = 10_000
"""Objects behind the arguments of a call; of more than that, nobody knows."""

_BLIND: frozenset[Any] = frozenset(
    {len, isinstance, issubclass, type, id, hash, bool, callable, set, frozenset, any, all, getattr, hasattr}
    | {sorted, min, max, operator.contains, operator.eq, operator.ne, operator.and_, operator.or_, operator.sub}
    | {operator.xor, operator.le, operator.lt, operator.ge, operator.gt, operator.is_, operator.is_not, operator.truth}
)
"""Functions whose answer for a set is the same in whatever order it is walked; with a `key` it need not be."""
_WALKING: dict[type, frozenset[str]] = {
    list: frozenset({"extend", "__init__", "__iadd__", "__setitem__", "__repr__", "__str__", "__format__"}),
    dict: frozenset({"update", "fromkeys", "__init__", "__ior__", "__or__", "__repr__", "__str__", "__format__"}),
    deque: frozenset({"extend", "extendleft", "__init__", "__iadd__", "__repr__", "__str__", "__format__"}),
    set: frozenset({"pop", "__iter__", "__repr__", "__str__", "__format__", "__reduce__", "__reduce_ex__"}),
    frozenset: frozenset({"__iter__", "__repr__", "__str__", "__format__", "__reduce__", "__reduce_ex__"}),
}
"""Methods of containers that walk a set which they are given, or are a method of; the others keep it as it is."""
_CALLING = frozenset({"functools", "heapq", "bisect", "numpy", "re", "statistics", "itertools", "collections"})
"""Packages whose functions call what they are given."""
_NOT_CALLING: frozenset[Any] = frozenset({partial, wraps, update_wrapper})

_AGAIN = frozenset({"__import__", "import_module", "getenv", "getenvb", "getcwd", "getcwdb", "getpid", "getppid"}) | {
    *("get_ident", "get_native_id", "current_thread", "main_thread", "gettempdir", "getrecursionlimit", "getlocale"),
    *(
        "getswitchinterval",
        "gethostname",
        "geterr",
        "get_printoptions",
        "getbufsize",
        "getdoc",
        "getsource",
        "getcontext",
    ),
    *(
        "getsourcelines",
        "getmodule",
        "getfile",
        "getsourcefile",
        "lookup",
        "abspath",
        "realpath",
        "relpath",
        "cwd",
        "home",
    ),
    *(
        "expandvars",
        "expanduser",
        "cpu_count",
        "resolve_name",
        "__subclasses__",
        "__hash__",
        "hash",
        "id",
        "get_default_dtype",
    ),
    *("get_num_threads", "gettrace", "getprofile", "getLogger", "getEffectiveLevel", "isEnabledFor", "get_cache_token"),
}
"""Questions that can be asked again at each call, to see whether the answer has changed: they do nothing."""
_OUTSIDE_KEY = frozenset({"__doc__", "__module__", "__file__", "__path__", "__spec__", "__loader__", "__cached__"}) | {
    *("__package__", "__firstlineno__", "co_firstlineno", "__globals__", "__builtins__", "gi_frame", "f_globals")
}
"""Attributes of functions, classes and modules that say nothing of what they do, so that a key leaves them out."""
_NAMES = frozenset({"__name__", "__qualname__"})
"""Attributes that a key has: labels are made of them."""


def unrepeatable(trace: Trace, why: str) -> None:
    """Remember the first reason for which the program is not for the store."""
    trace.unrepeatable = trace.unrepeatable or why


# order -------------------------------------------------------------------------------------------------------------
def note_walk(trace: Trace, iterable: object) -> None:
    """Python is about to walk something."""
    if isinstance(iterable, _SETS) and has_own_order(iterable):
        unrepeatable(trace, _ORDER)


def note_text(trace: Trace, text: Any, *shown: object) -> Any:
    """`text`, which has been made of some values while tracing."""
    if not trace.unrepeatable:
        if isinstance(text, str) and _SHOWN_ADDRESS.search(text):
            unrepeatable(trace, _ADDRESS)
        elif _holds_set(shown):
            unrepeatable(trace, _ORDER)
    return text


def _holds_set(values: Iterable[Any]) -> bool:
    """Whether there is a set with an order of its own in or behind some values."""
    pending, seen = list(values), set()
    while pending:
        value = pending.pop()
        kind = type(value)
        if kind in _ATOMS or id(value) in seen:
            continue
        if isinstance(value, _SETS) and has_own_order(value):
            return True
        seen.add(id(value))
        if len(seen) > _MOST_LOOKED_AT:
            return True
        pending += _parts(value, kind)
    return False


_CHANGEABLE = (list, dict, set, deque, bytearray, weakref.ref)
_ATOMS = frozenset({bool, int, float, complex, str, bytes, type(None), type, range, FunctionType, ModuleType})


def _parts(value: Any, kind: type) -> Iterable[Any]:
    if isinstance(value, dict):
        return (*value.keys(), *value.values())
    if isinstance(value, list | tuple | set | frozenset | deque):
        return value
    if is_user_class(kind) and not isinstance(value, type):
        return tuple(getattr(value, "__dict__", {}).values())
    return gc.get_referents(value) if hasattr(kind, "__next__") and not is_own(kind) else ()


def note_stored(trace: Trace, into: object, value: Any) -> Any:
    """`value`, which is put into a list or a slice of it, as what it holds."""
    if isinstance(into, slice | list | deque | dict):
        note_walk(trace, value)
    return value


# calls --------------------------------------------------------------------------------------------------------------
def note_call(trace: Trace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> None:
    """Python is about to make a call that the rewriter does not see into."""
    owner = getattr(function, "__self__", None)
    if owner is sys.modules:
        _note_modules(trace, function.__name__, args)
    if trace.unrepeatable:
        return
    if not effects.answers_alike(function) and not only_fills_fields(function, args):
        unrepeatable(trace, f"`{name}` is called while tracing, and may answer otherwise in another process")
    elif any(_is_called_unseen(function, value) for value in (*args, *kwargs.values())):
        unrepeatable(trace, f"`{name}` calls what it is given, which tracing does not see")
    elif _walks(function, owner, args, kwargs):
        given = (owner, *args, *kwargs.values()) if owner is not None else (*args, *kwargs.values())
        if _holds_set(given):
            unrepeatable(trace, _ORDER)


_GENERATED = "<string>"
"""The file of functions that `dataclasses` and `collections` write."""
_FACTORIES = (MISSING, list, dict, tuple, set, frozenset)
"""What gives a field its default without code of a program."""


def only_fills_fields(function: object, args: tuple[Any, ...]) -> bool:
    """Whether a call is the constructor that Python writes for a dataclass or a named tuple, and calls nothing else."""
    kind: Any = function if isinstance(function, type) else type(args[0]) if args else None
    if isinstance(function, type) and issubclass(function, tuple):
        return function.__init__ is object.__init__ and _is_generated(function.__new__)
    filled_by: Any = kind.__init__ if isinstance(function, type) else function
    fields: dict[str, Any] = getattr(kind, "__dataclass_fields__", {})
    if not _is_generated(filled_by) or filled_by.__name__ != "__init__" or not fields:
        return False
    if getattr_static(kind, "__post_init__", None):
        return False
    sets_plainly = kind.__dataclass_params__.frozen or getattr_static(kind, "__setattr__") is object.__setattr__
    places = [getattr_static(kind, name, None) for name in fields]
    return (
        bool(sets_plainly)
        and all(ismemberdescriptor(place) or not isdatadescriptor(place) for place in places)
        and all(field.default_factory in _FACTORIES for field in fields.values())
    )


def _is_generated(function: object) -> bool:
    return isinstance(function, FunctionType) and function.__code__.co_filename == _GENERATED


def _walks(function: Any, owner: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call may walk sets that it is given."""
    if isinstance(function, BuiltinFunctionType | type) and function in _BLIND:
        return bool(kwargs)
    if isinstance(function, MethodDescriptorType) and args:
        owner = args[0]
    for kind, walking in _WALKING.items():
        if isinstance(owner, kind) or owner is kind:
            return getattr(function, "__name__", "") in walking
    return True


def _is_called_unseen(function: Any, value: Any) -> bool:
    """Whether a function of a library may call a value that tracing would have to see."""
    if isinstance(value, BuiltinFunctionType | MethodDescriptorType | MethodWrapperType):
        return not effects.answers_alike(value)
    calls = _is_calling(function) and function not in _NOT_CALLING
    if isinstance(value, type):
        return calls and is_user_class(value) and "__init__" in vars(value)
    called = value.__func__ if isinstance(value, MethodType) else value
    return calls and is_user_function(called) and not locations.is_rewritten(called.__code__)


def _is_calling(function: Any) -> bool:
    if getattr(function, "__name__", "") == "sort":
        return True
    if isinstance(function, BuiltinFunctionType | type) and function.__module__ == "builtins":
        return function in (map, filter, sorted, min, max, iter)
    module = getattr(function, "__module__", None) or ""
    return isinstance(module, str) and module.lstrip("_").partition(".")[0] in _CALLING


def note_answer(
    trace: Trace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, name: str
) -> None:
    """A call has been made: what it asked is asked again by later calls, if that can be; text may show too much."""
    if isinstance(result, str):
        note_text(trace, result)
    if type(result) is ModuleType and not is_own(function):
        trace.found.append(Found(f"what `{name}` gives", partial(_itself, result)))
    asked = getattr(function, "__name__", "")
    if asked in _AGAIN and not is_user_function(function) and not any(is_own(type(value)) for value in args):
        trace.found.append(Found(f"what `{name}` gives", partial(function, *args, **kwargs)))
    elif asked in ("encode", "decode", "str", "bytes") and (codec := _own_codec(function, args, kwargs)):
        unrepeatable(trace, f"the codec {codec} is none of Python's")
        trace.found.append(Found(f"the codec {codec}", partial(codecs.lookup, codec)))


def note_met(trace: Trace, function: Any, result: Any, name: str) -> None:
    """A call has given an object that was there before, perhaps one that names do not lead to."""
    if not effects.answers_alike(function) and not is_own(function) and not is_user_function(function):
        trace.found.append(Found(f"what `{name}` gives", partial(_itself, result)))


def _itself(value: Any) -> Any:
    return value


def _own_codec(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The name of a codec that somebody has registered, if a call uses one."""
    for value in (*args[:2], kwargs.get("encoding")):
        if type(value) is str and not isinstance(function, type):
            return value if _is_registered(value) else ""
    return next((v for v in (*args[1:2], kwargs.get("encoding")) if type(v) is str and _is_registered(v)), "")


def _is_registered(codec: str) -> bool:
    try:
        return is_user_function(codecs.lookup(codec).encode)
    except LookupError:
        return False


# what names do not show ---------------------------------------------------------------------------------------------
def note_item(trace: Trace, container: object, key: object) -> None:
    """An item of a dictionary is read, which may be that of all modules."""
    if container is sys.modules:
        _note_modules(trace, "get", (key,))


def _note_modules(trace: Trace, method: str, args: tuple[Any, ...]) -> None:
    """Modules of the process are looked for: by name, or all of them."""
    if method in ("get", "__getitem__", "__contains__") and args and isinstance(args[0], str):
        trace.found.append(Found(f"sys.modules[{args[0]!r}]", partial(sys.modules.get, args[0])))
    else:
        trace.found.append(Found("sys.modules", _all_modules))


def _all_modules() -> tuple[Any, ...]:
    return tuple(sys.modules.items())


def note_attribute(trace: Trace, owner: Any, name: str, value: Any) -> Any:
    """`value`, an attribute that has been read: of a module that the key may not have, or one that keys leave out."""
    if type(owner) is ModuleType:
        if is_own_module(owner):
            return value
        if name in _OUTSIDE_KEY or not _is_settled(value):
            trace.found.append(Found(f"{owner.__name__}.{name}", partial(getattr, owner, name), vars(owner), name))
    elif name in _NAMES and isinstance(owner, FunctionType | type):
        trace.found.append(Found(f"{name} of {value}", partial(getattr, owner, name), is_in_key=True))
    elif hasattr(type(owner), "__traced_call__"):  # a `@jit` function, whose attributes no guard watches
        trace.found.append(Found(f"`{name}` of {owner.__name__}", partial(getattr, owner, name), is_in_key=True))
    elif name in _OUTSIDE_KEY and value is not None and not is_own(owner):
        shown = getattr(owner, "__name__", type(owner).__name__)
        trace.found.append(Found(f"`{name}` of {shown}", partial(getattr, owner, name)))
    return value


def _is_settled(value: object) -> bool:
    """Whether a value of a module is as it was made there: code, a constant, an object of C without parts."""
    kind = type(value)
    if kind in _ATOMS or callable(value) or isinstance(value, Enum | ModuleType):
        return True
    return not kind.__flags__ & HEAP_TYPE and not isinstance(value, _CHANGEABLE) and not hasattr(kind, "__setitem__")


LOWERINGS: dict[str, Callable[..., Any]] = {}
"""By the text of the instruction, without its operands."""
