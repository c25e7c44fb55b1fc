"""A launch that ended early, as the native pool describes it, becomes the exception that the call raises.

The cause is what a Python signal handler raised (Ctrl-C), or the first check that failed in a thread of the kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from triptych.support.check_facts import tables
from triptych.support.kernel_errors import AsyncAccessError, DeadlockError
from triptych.support.source import Span
from triptych.targets.cpu.calling.abi import WAITING_WORDS
from triptych.targets.cpu.calling.raising import check_error
from triptych.targets.cpu.runtime.waiting_warps import deadlock


class _Launch(ctypes.Structure):
    """The launch record of `pool_code`, up to what is read here."""

    _fields_ = [
        ("chunk", ctypes.c_void_p),
        ("packed", ctypes.c_void_p),
        ("total", ctypes.c_int64),
        ("caller", ctypes.c_int64),
        ("next_look_at_signals", ctypes.c_int64),
        ("exception", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("text", ctypes.c_char_p),
        ("where", ctypes.c_int32 * 4),
        ("block_x", ctypes.c_int32),
        ("block_y", ctypes.c_int32),
        ("stopped", ctypes.c_int32),
        ("apart", ctypes.c_char * 64),
        ("next_block", ctypes.c_int64),
        ("identity", ctypes.c_char_p),
        ("block_bytes", ctypes.c_int64),
        ("cooperation", ctypes.c_int32 * 4),
        ("unused", ctypes.c_char * 24),
        ("is_waiting", ctypes.c_int32),
        ("waiting", ctypes.c_int32 * WAITING_WORDS),
    ]


def stop_cause(address: int) -> BaseException:
    """Called by the pool: what the call that launched is to raise."""
    launch = _Launch.from_address(address)
    if launch.exception:
        return _taken(launch.exception)
    if launch.is_waiting and launch.name == DeadlockError.__name__.encode():
        return _deadlock(launch)
    error = check_error(launch.name, launch.text, notes=_place(launch.where, launch))
    if launch.is_waiting and launch.name == AsyncAccessError.__name__.encode():
        error.related += _in_the_background(launch)
    return error


def _in_the_background(launch: _Launch) -> list[tuple[str, Span]]:
    """The line of the operation that was under way."""
    lines = tables(launch.text.decode()).get("lines")
    line = lines[launch.waiting[0]] if lines else None
    return [] if line is None else [("under way since", Span(**line))]


def _deadlock(launch: _Launch) -> DeadlockError:
    words = list(launch.waiting)
    error = deadlock(launch.text.decode(), words)
    error.notes += _place((*words[1:4], launch.where[3]), launch)
    return error


def _taken(reference: int) -> BaseException:
    """The exception that the record held, with its reference."""
    exception: BaseException = ctypes.cast(reference, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(exception))
    return exception


def _place(where: Sequence[int], launch: _Launch) -> list[str]:
    x, y, z, thread = where
    if thread < 0:
        return []
    rows, column = divmod(thread, launch.block_x)
    plane, row = divmod(rows, launch.block_y)
    return [f"in block ({x}, {y}, {z}), thread ({column}, {row}, {plane})"]
