"""Memory of the modelled GPU: the CPU's, by address. Work is done when a call returns, unless a graph records it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from triptych.interop.recorded_calls import RECORDERS

_ALLOCATED: dict[int, Any] = {}
_ALIGNMENT = 256
"""Bytes; what CUDA's allocations begin at."""


def allocate(size: int) -> int:
    """The address of new memory."""
    buffer = ctypes.create_string_buffer(size + _ALIGNMENT)
    address = -(-ctypes.addressof(buffer) // _ALIGNMENT) * _ALIGNMENT
    _ALLOCATED[address] = buffer
    return address


def free(address: object) -> bool:
    """Give memory back; False if it was never given out. Address 0 is nothing."""
    number = address_of(address)
    return number == 0 or _ALLOCATED.pop(number, None) is not None


def address_of(pointer: Any) -> int:
    """The address in whatever programs pass: a number, a handle, a NumPy array."""
    if hasattr(pointer, "ctypes"):
        return int(pointer.ctypes.data)
    return int(getattr(pointer, "value", pointer) or 0)


def copy(target: object, source: object, size: int) -> None:
    """Copy bytes."""
    _do(ctypes.memmove, address_of(target), address_of(source), size)


def fill(target: object, value: int, size: int) -> None:
    """Set bytes."""
    _do(ctypes.memset, address_of(target), value & 0xFF, size)


def fill_words(target: object, value: int, count: int) -> None:
    """Set words of 32 bits."""
    _do(_fill_words, address_of(target), value & 0xFFFFFFFF, count)


def _fill_words(address: int, value: int, count: int) -> None:
    (ctypes.c_uint32 * count).from_address(address)[:] = [value] * count


def _do(work: Callable[..., Any], *args: int) -> None:
    if RECORDERS:
        RECORDERS[-1].put_off(work, args, {})
    else:
        work(*args)
