"""A launch that ended early, as the native pool describes it, becomes the exception that the call raises.

The cause is what a Python signal handler raised (Ctrl-C), or the first check that failed in a thread of the kernel.
"""

from __future__ import annotations

import ctypes

from triptych.targets.cpu.calling.raising import check_error


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
    ]


def stop_cause(address: int) -> BaseException:
    """Called by the pool: what the call that launched is to raise."""
    launch = _Launch.from_address(address)
    if launch.exception:
        return _taken(launch.exception)
    return check_error(launch.name, launch.text, notes=_place(launch))


def _taken(reference: int) -> BaseException:
    """The exception that the record held, with its reference."""
    exception: BaseException = ctypes.cast(reference, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(exception))
    return exception


def _place(launch: _Launch) -> list[str]:
    x, y, z, thread = launch.where
    if thread < 0:
        return []
    rows, column = divmod(thread, launch.block_x)
    plane, row = divmod(rows, launch.block_y)
    return [f"in block ({x}, {y}, {z}), thread ({column}, {row}, {plane})"]
