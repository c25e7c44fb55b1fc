"""Side effect tracking: what a call does to objects, for calls of code that the rewriter does not see into.

Before the call the state of everything that it can reach is taken down (the receiver, arguments, closure cells, what
iterators and containers hold, and so on); afterwards the states are compared. Objects are compared by identity, so
taking down costs little, and an object that hides its state from Python is asked for what pickling would write.
"""

from __future__ import annotations

import array
import gc
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import Any

from triptych.interop.numpy_arrays import Array
from triptych.metastage.trace.user_code import HEAP_TYPE, is_own, is_user_function
from triptych.support.instances import hides_state, slot_names

MOST_WATCHED = 20_000
"""Objects that are looked at for one call: about 20 ms."""

SETTLED = frozenset(
    {bool, int, float, complex, str, bytes, NoneType, range, slice, type(Ellipsis), type(NotImplemented), CodeType}
)
"""Types whose instances never change and refer to nothing that does."""

SETTLED_MODULES = frozenset({"datetime", "decimal", "fractions", "pathlib", "re", "typing", "uuid"})
"""Modules of classes whose instances show no change; some fill caches of their own."""

UNSEEN = object()
"""In the place of a state: the object cannot be watched."""


class SideEffectTracker:
    """The states of all that some objects reach, as they were when it was made."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self._states: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self.unseen: Any = None
        """A root whose state cannot be seen, if there is one."""
        pending = list(roots)
        direct = {id(value) for value in pending}
        while pending:
            value = pending.pop()
            if is_settled(type(value)) or id(value) in self._states:
                continue
            state, parts = _state(value)
            if len(self._states) > MOST_WATCHED or (state is UNSEEN and id(value) in direct):
                self.unseen = value
                return
            self._states[id(value)] = (value, state)
            pending += parts

    def changed(self) -> Iterator[Any]:
        """The objects that are not what they were."""
        for value, state in self._states.values():
            now, _ = _state(value)
            if not _same(state, now):
                yield value


def reachable(roots: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """All that some objects lead to, each with the object that holds it (None for a root)."""
    pending: list[tuple[Any, Any]] = [(None, root) for root in roots]
    seen: dict[int, Any] = {}
    while pending and len(seen) < MOST_WATCHED:
        holder, value = pending.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        yield holder, value
        if not is_settled(type(value)) and not isinstance(value, _Array | array.array | bytearray | memoryview):
            _, parts = _state(value)
            pending += ((value, part) for part in parts)


def is_settled(cls: type) -> bool:
    """Whether instances of a class need no watching: they never change, or are the framework's own."""
    return cls in SETTLED or cls.__module__ in SETTLED_MODULES or is_own(cls) or issubclass(cls, Enum | ModuleType)


def _same(before: object, now: object) -> bool:
    if before is now:
        return True
    if type(before) is tuple and type(now) is tuple:
        return len(before) == len(now) and all(map(_same, before, now))
    return type(before) is type(now) and type(before) in SETTLED and bool(before == now)


# Any: each reader knows its class.
def _state(value: Any) -> tuple[Any, Iterable[Any]]:
    """What can change of an object, as a tuple of objects and plain values; and the objects that it leads to."""
    for kind, read in _READERS:
        if isinstance(value, kind):
            return read(value)
    module = type(value).__module__
    if module == "torch" and hasattr(value, "_version"):
        return (value._version, value.data_ptr()), ()
    return _instance(value)


def _held(value: Iterable[Any]) -> tuple[tuple[Any, ...], Iterable[Any]]:
    """A container of the standard library, and what a subclass of it keeps beside its items."""
    items = tuple(value)
    extra = _attributes(value)
    return (*items, *extra), (*items, *extra)


def _mapping(value: dict[Any, Any]) -> tuple[tuple[Any, ...], Iterable[Any]]:
    """In the order of iteration: an OrderedDict keeps one of its own."""
    pairs = OrderedDict.items(value) if isinstance(value, OrderedDict) else dict.items(value)
    items = tuple(part for pair in pairs for part in pair)
    extra = _attributes(value)
    return (*items, *extra), (*items, *extra)


def _buffer(value: bytearray | memoryview) -> tuple[tuple[Any, ...], Iterable[Any]]:
    return (len(value), hash(bytes(value))), ()


def _function(value: FunctionType) -> tuple[tuple[Any, ...], Iterable[Any]]:
    cells = value.__closure__ or ()
    held = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *vars(value).values())
    read = tuple(_globals_read(value)) if is_user_function(value) else ()
    contents = tuple(map(_cell, cells))
    return (*contents, *held, *read), (*contents, *held, *read)


def _globals_read(function: FunctionType) -> Iterator[Any]:
    """The variables of its module that a function names."""
    for name in function.__code__.co_names:
        found = function.__globals__.get(name)
        if found is not None and not isinstance(found, FunctionType | type | ModuleType):
            yield found


def _cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _generator(value: GeneratorType[Any, Any, Any]) -> tuple[tuple[Any, ...], Iterable[Any]]:
    frame = value.gi_frame
    return (), () if frame is None else tuple(frame.f_locals.values())


def _class(value: type) -> tuple[tuple[Any, ...], Iterable[Any]]:
    """Attributes of a class that the user wrote; those of others do not change."""
    if not value.__flags__ & HEAP_TYPE or not any(map(is_user_function, vars(value).values())):
        return (), ()
    held = tuple(entry for entry in vars(value).values() if not isinstance(entry, FunctionType))
    return held, held


def _instance(value: object) -> tuple[Any, Iterable[Any]]:
    cls = type(value)
    held = _attributes(value)
    hidden = hides_state(cls)
    referents = tuple(gc.get_referents(value)) if hidden else ()
    if hasattr(cls, "__next__"):
        return (), (*held, *referents)  # where an iterator stands is checked when it is advanced
    if hidden and not referents:
        described = _described(value)
        return (described if described is UNSEEN else (*held, *described)), held
    return (*held, *referents), (*held, *referents)


def _attributes(value: object) -> tuple[Any, ...]:
    slots = tuple(getattr(value, name) for name in slot_names(type(value)) if hasattr(value, name))
    attributes = getattr(value, "__dict__", None)
    if type(attributes) is not dict:
        return slots
    return (*slots, *(part for pair in attributes.items() for part in pair))


def _described(value: object) -> Any:
    """What pickling would write, as text; UNSEEN if the object cannot be pickled."""
    try:
        if hasattr(value, "getvalue") and hasattr(value, "tell"):
            return (hash(value.getvalue()), value.tell())
        return (repr(value.__reduce_ex__(4)[1:]),)
    except Exception:
        return UNSEEN


def _array_bytes(value: Array) -> tuple[tuple[Any, ...], Iterable[Any]]:
    if value.dtype.hasobject:
        items = tuple(value.ravel().tolist())
        return items, items
    return (value.shape, value.strides, hash(value.tobytes())), ()


class _Arrays(type):
    """Stands for NumPy's arrays without importing NumPy: what is not imported has no instances."""

    def __instancecheck__(cls, value: object) -> bool:
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(value, numpy.ndarray)


class _Array(metaclass=_Arrays):
    """Any NumPy array."""


_READERS: tuple[tuple[Any, Callable[[Any], tuple[Any, Iterable[Any]]]], ...] = (
    (dict, _mapping),
    (list | tuple | set | frozenset | deque, _held),
    (bytearray | array.array | memoryview, _buffer),
    (FunctionType, _function),
    (MethodType, lambda value: ((), (value.__func__, value.__self__))),
    (BuiltinFunctionType, lambda value: ((), (value.__self__,))),
    (MappingProxyType, lambda value: ((), (value | {},))),
    (CellType, lambda value: ((_cell(value),), (_cell(value),))),
    (GeneratorType, _generator),
    (type, _class),
    (_Array, _array_bytes),
)
