"""Errors in colours, where they end a program on a terminal. `str(error)` has none, so logs and files stay plain.

Python shows an exception that nobody caught by `sys.excepthook`. Ours replaces the default one when the first error
leaves the framework, only for a stream that takes colours, and hands on whatever is not ours.
"""

from __future__ import annotations

import sys
import traceback
from types import TracebackType

from triptych.support.config import has_colours
from triptych.support.errors import TriptychError


def show_in_colours() -> None:
    """From now on, an error that ends the program is shown in colours; a hook of someone else stays."""
    if sys.excepthook is sys.__excepthook__ and has_colours(sys.stderr):
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, TriptychError):
        sys.__excepthook__(kind, error, trace)
        return
    text = "".join(traceback.format_exception(kind, error, trace))
    before, plain, after = text.rpartition(str(error))
    print(f"{before}{error.text(colours=True) if plain else ''}{after}", end="", file=sys.stderr)
