"""Print function of compiled code, which writes to Python's current `sys.stdout`."""

from __future__ import annotations

import sys


def write_text(text: str) -> None:
    """Looked up at every call: redirection replaces `sys.stdout`, and it is None in programs without a console."""
    if sys.stdout is not None:
        sys.stdout.write(text)
