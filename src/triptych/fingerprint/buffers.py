"""Buffer contents: arrays that show their bytes are compared by them, up to a size.

Nothing says that an array was written: no array library counts its writes. A small array is compared with a copy at
each call; a large one is watched by identity, which is enough when nobody can write it, and refused otherwise.
"""

from __future__ import annotations

import hashlib
import weakref
from array import array
from typing import Any, NamedTuple, TypeGuard

from triptych.interop.dlpack import Array

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
