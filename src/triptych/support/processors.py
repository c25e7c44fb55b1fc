"""Processor affinity: how many processors a process may use, and which they are."""

from __future__ import annotations

import os
import platform
import re
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
