"""The functions through which compiled code prints, to Python's current `sys.stdout`: bytes from C, or text."""

from __future__ import annotations

import ctypes
import sys


def write_text(text: str) -> None:
    """Looked up at every call: redirection replaces `sys.stdout`, and it is None in programs without a console."""
    if sys.stdout is not None:
        sys.stdout.write(text)


def _write(data: int, size: int) -> None:
    write_text(ctypes.string_at(data, size).decode(errors="replace"))


_NATIVE_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(_write)
"""Lives as long as this module; it takes the interpreter lock by itself."""


def write_address() -> int:
    """The address that compiled code imports."""
    return ctypes.cast(_NATIVE_WRITE, ctypes.c_void_p).value or 0
