"""Contents of values: objects that are windows to something else, and functions that answer from state.

A view shows a dictionary that it does not own, a weak reference an object that it does not keep alive, a context
variable what is set in this thread. `os.getenv` and `decimal.Decimal` are pinned by a release, and yet what they answer
depends on a state that is not: those are listed here. Other state of pinned libraries is not watched (see the guide).

Buffer contents: arrays that show their bytes are compared by them, up to a size. Nothing says that an array was
written: no array library counts its writes. A small array is compared with a copy at each call; a large one is watched
by identity, which is enough when nobody can write it, and refused otherwise.
"""

from __future__ import annotations

import copyreg
import hashlib
import os
import sys
import threading
import weakref
from array import array
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import FunctionType
from typing import Any, NamedTuple, TypeGuard

from triptych.fingerprint.releases import release
from triptych.interop.numpy_arrays import Array
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


MOST_BYTES = 1 << 20
"""What may be compared at each call: 1 MiB takes a tenth of a millisecond. Hashing 80 MB took 0.2 to 2 seconds."""

BUFFERS = (bytearray, memoryview, array)


class Buffer(NamedTuple):
    """What an array says of itself; equal ones are equal to every reader."""

    format: str
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    readonly: bool
    content: bytes


# Any: what it has is asked of its class.
def size_in_bytes(value: Any) -> int:
    """How many bytes an array has; 0 for everything else."""
    if isinstance(value, BUFFERS):
        return memoryview(value).nbytes
    # Asked of the class first: a user's `__getattr__` may answer anything.
    found = value.nbytes if hasattr(type(value), "nbytes") else 0
    return found if type(found) is int else 0


def as_buffer(value: object) -> Buffer | None:
    """The content of an array that is made of numbers; None for everything that shows no bytes, or addresses only."""
    if not isinstance(value, BUFFERS) and not _is_numpy_array(value):
        return None
    try:
        with memoryview(value) as view:
            # Objects ('O') would be shown as their addresses.
            return None if "O" in view.format else _read(view)
    except ValueError:  # dates have no format of their own
        return None


def _read(view: memoryview) -> Buffer:
    return Buffer(view.format, view.shape, view.strides, view.readonly, view.tobytes())


def _is_numpy_array(value: object) -> TypeGuard[Array]:
    """Asked by name: NumPy is not imported for it. Subclasses keep more than bytes (a mask, a unit)."""
    cls = type(value)
    return cls.__module__ == "numpy" and cls.__qualname__ == "ndarray"


def is_settled(value: object) -> TypeGuard[Array]:
    """Whether nobody can write to an array by itself or through what it was made from."""
    return _is_numpy_array(value) and not value.flags.writeable and (value.base is None or type(value.base) is bytes)


_DIGESTS: dict[int, tuple[object, str]] = {}
"""Of settled arrays, by address while they live: each is read once, however many functions use it."""


def settled_digest(value: Array) -> str:
    """SHA-256 of the content of a large array that does not change."""
    address = id(value)
    if address not in _DIGESTS:
        buffer = as_buffer(value)
        content = buffer.content if buffer is not None else value.tobytes()
        keeper = weakref.ref(value, lambda _: _DIGESTS.pop(address, None))
        _DIGESTS[address] = (keeper, hashlib.sha256(content).hexdigest())
    return _DIGESTS[address][1]
