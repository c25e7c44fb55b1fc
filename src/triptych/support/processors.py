"""Processors that a process may use, and the processor time of it and of the processes below it that still run."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import threading
import time
from functools import cache
from pathlib import Path


def processors() -> int:
    """In a container these are fewer than there are."""
    allowed = getattr(os, "sched_getaffinity", None)  # Linux's
    return (os.cpu_count() or 1) if allowed is None else len(allowed(0))


@cache
def processor_model() -> str:
    """As its maker calls it, where the system tells."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # no Linux
        told = ""
    match = re.search(r"^model name\s*:\s*(.+)$", told, re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


_PARENT, _USER, _SYSTEM = 1, 11, 12
"""Fields of `/proc/PID/stat` behind the name, which may have spaces in it."""


def cpu_seconds() -> float:
    """So far. In a thread beside others only the thread's own time: what runs below is nobody's in particular."""
    if threading.current_thread() is not threading.main_thread():
        return time.thread_time()
    return time.process_time() + _children()


def _children() -> float:
    """Of direct children that run; nothing where the system does not tell."""
    ticks, me = 0, os.getpid()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):  # it has just ended
            fields = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[_PARENT]) == me:
                ticks += int(fields[_USER]) + int(fields[_SYSTEM])
    return ticks / os.sysconf("SC_CLK_TCK")
