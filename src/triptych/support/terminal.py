"""Errors as they end a program: with the frames of the user only, and on a terminal in colours.

`str(error)` has no colours, so logs and files stay plain. Python shows an exception that nobody caught by
`sys.excepthook`. Ours replaces the default one when the first error of ours appears, and hands on whatever is not ours.
"""

from __future__ import annotations

import sys
import traceback
from types import TracebackType

from triptych.support.config import config, has_colours
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import user_traceback


def show_in_colours() -> None:
    """From now on, an error that ends the program is shown in colours; a hook of someone else stays."""
    if has_colours(sys.stderr):
        show_for_user()


def show_for_user() -> None:
    """From now on, an error that ends the program is shown without frames of the framework, in colours if it can be."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, TriptychError):
        sys.__excepthook__(kind, error, trace)
        return
    if not config().full_traceback:
        trace = user_traceback(trace, id)
    text = "".join(traceback.format_exception(kind, error, trace))
    before, plain, after = text.rpartition(str(error))
    shown = error.text(colours=has_colours(sys.stderr)) if plain else ""
    print(f"{before}{shown}{after}", end="", file=sys.stderr)
