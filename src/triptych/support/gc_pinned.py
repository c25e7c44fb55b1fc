"""Garbage collector pins: objects that must live until the last reference, whatever the collector finds.

Of objects in a cycle the collector calls weak references first, then finalizers in any order, then it takes objects
apart one by one. Code that was unmapped by the first would be called by the second. The collector does not look into a
handle, so that its value goes when the last holder of the handle has been taken apart.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class GcPinned:
    """A handle. Its value must not lead back to the handle: nobody would find such a cycle."""

    value: Any

    def __post_init__(self) -> None:
        _untrack(self)


_untrack: Any = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("PyObject_GC_UnTrack", ctypes.pythonapi))
