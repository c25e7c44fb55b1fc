"""Objects that offer a tensor through DLPack, truthfully or not."""

from __future__ import annotations

import ctypes
from typing import Any

_new_capsule: Any = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class _Managed(ctypes.Structure):
    """A tensor's description, and who gives the memory back: here nobody needs to."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("stride", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Managed),
    ]


class Exporter:
    """Sixteen numbers, 0 to 15, described as one says; `returned` is given instead of a capsule."""

    def __init__(
        self,
        *,
        shape: tuple[int, ...] | None = (4,),
        stride: tuple[int, ...] | None = (1,),
        rank: int | None = None,
        name: bytes = b"dltensor",
        version: tuple[int, int] | None = None,
        flags: int = 0,
        returned: Any = None,
        **fields: Any,
    ) -> None:
        self.memory = (ctypes.c_int32 * 16)(*range(16))
        self._parts = [(ctypes.c_int64 * 8)(*part) if part is not None else None for part in (shape, stride)]
        places = [None if part is None else ctypes.addressof(part) for part in self._parts]
        rank = len(shape or ()) if rank is None else rank
        described: dict[str, Any] = {
            "data": ctypes.addressof(self.memory),
            "device": 1,
            "bits": 32,
            "lanes": 1,
            **fields,
        }
        tensor = _Managed(rank=rank, shape=places[0], stride=places[1], **described)
        self._tensor = tensor if version is None else _Versioned(*version, None, None, flags, tensor)
        self._name = name if version is None else b"dltensor_versioned"
        self._returned = returned

    def __dlpack__(self, **options: Any) -> Any:
        if isinstance(self._returned, Exception):
            raise self._returned
        if self._returned is not None:
            return self._returned
        return _new_capsule(ctypes.addressof(self._tensor), self._name, None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0
