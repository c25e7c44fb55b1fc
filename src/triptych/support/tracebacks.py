"""Tracebacks as users should see them: their own frames, none of the framework's.

Errors as they end a program: with the frames of the user only, and on a terminal in colours. `str(error)` has no
colours, so logs and files stay plain. Python shows an exception that nobody caught by `sys.excepthook`. Ours replaces
the default one when the first error of ours appears, and hands on whatever is not ours.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from triptych.support.config import config, has_colours
from triptych.support.errors import TriptychError
from triptych.support.source import Span

_FRAMEWORK = frozenset(
    {
        *("triptych", "tvm_ffi", "torch_mlir", "llvmlite"),
        *("ast", "concurrent"),  # how a program is walked and compiled
        *("importlib", "_frozen_importlib", "_frozen_importlib_external", "runpy"),  # how it is started
    }
)
"""Packages whose frames say nothing about the user's program."""
_DISPATCHER = "torch._ops"
"""By which PyTorch's dispatcher is called, and through it an operator of ours."""
_LIBRARY = os.path.dirname(os.__file__)


def is_framework(frame: FrameType) -> bool:
    """Whether a frame belongs to Triptych or to the packages it calls through."""
    module = str(frame.f_globals.get("__name__"))
    if module.partition(".")[0] in _FRAMEWORK or module == _DISPATCHER:
        return True
    return frame.f_code.co_filename.startswith("<guard")


def user_traceback(traceback: TracebackType | None, same: Callable[[CodeType], object]) -> TracebackType | None:
    """The traceback without framework frames; frames that `same` maps to one thing in a row shrink to the innermost."""
    kept: list[TracebackType] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_framework(traceback.tb_frame):
            if kept and same(kept[-1].tb_frame.f_code) == same(code):
                kept.pop()
            kept.append(traceback)
        traceback = traceback.tb_next
    rebuilt: TracebackType | None = None
    for entry in reversed(kept):
        rebuilt = TracebackType(rebuilt, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rebuilt


def caller() -> Span | None:
    """The user's line that is calling into the framework."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_framework(frame):
        frame = frame.f_back
    return None if frame is None else _line_of(frame)


def caller_past_libraries() -> Span | None:
    """The same where installed packages may stand between: they call the function that the user has given them."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (is_framework(frame) or is_installed(frame.f_code.co_filename)):
        frame = frame.f_back
    return caller() if frame is None else _line_of(frame)


def _line_of(frame: FrameType) -> Span:
    line, end_line, column, end_column = next(islice(frame.f_code.co_positions(), max(frame.f_lasti, 0) // 2, None))
    name = frame.f_code.co_name
    return Span(
        file=frame.f_code.co_filename,
        line=line or frame.f_lineno,
        column=column or 0,
        end_line=end_line,
        end_column=end_column,
        function="" if name == "<module>" else name,
    )


def in_one_line(error: BaseException) -> str:
    """An exception of the user's program: its class, the first line of its text, and where it was raised."""
    text = str(error).strip().splitlines()
    said = f"{type(error).__name__}: {text[0] if text else ''}".rstrip(": ")
    place = raised_at(error)
    return f"{said} (line {place.line} of {Path(place.file).name})" if place is not None else said


def raised_at(error: BaseException) -> Span | None:
    """The place that an error names itself, or the user's innermost line in its traceback, libraries left out."""
    own = getattr(error, "span", None)
    if isinstance(own, Span):
        return own
    entry, found = user_traceback(error.__traceback__, lambda code: code), None
    while entry is not None:
        file = entry.tb_frame.f_code.co_filename
        if found is None or not is_installed(file):
            found = Span(file, entry.tb_lineno)
        entry = entry.tb_next
    return found


def has_own_frames(traceback: TracebackType | None) -> bool:
    """Whether the user's own code is in a traceback, beside the framework and libraries."""
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not is_framework(traceback.tb_frame) and not is_installed(file) and not file.startswith("<"):
            return True
        traceback = traceback.tb_next
    return False


def is_installed(file: str) -> bool:
    """Whether a file is of a package that was installed, or of Python itself."""
    return any(part in ("site-packages", "dist-packages") for part in Path(file).parts) or file.startswith(_LIBRARY)


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
