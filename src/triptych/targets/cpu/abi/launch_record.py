"""Launch record, as Python reads it from the memory of the pool."""

from __future__ import annotations

import ctypes

from triptych.targets.cpu.abi.abi import WAITING_WORDS


class LaunchRecord(ctypes.Structure):
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
        ("last_stop", ctypes.c_void_p),
        ("unused", ctypes.c_char * 16),
        ("is_waiting", ctypes.c_int32),
        ("waiting", ctypes.c_int32 * WAITING_WORDS),
    ]
