"""How many processors a process may use."""

from __future__ import annotations

import os


def processors() -> int:
    """In a container these are fewer than there are."""
    allowed = getattr(os, "sched_getaffinity", None)  # Linux's
    return (os.cpu_count() or 1) if allowed is None else len(allowed(0))
