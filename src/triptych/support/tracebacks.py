"""Tracebacks as users should see them: their own frames, none of the framework's."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType

from triptych.support.source import Span

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_framework(code: CodeType) -> bool:
    """Whether a frame of this code belongs to Triptych or to the packages it calls through."""
    file = code.co_filename
    return file.startswith((_PACKAGE, "<guard")) or "tvm_ffi" in file


def user_traceback(traceback: TracebackType | None, same: Callable[[CodeType], object]) -> TracebackType | None:
    """The traceback without framework frames; frames that `same` maps to one thing in a row shrink to the innermost."""
    kept: list[TracebackType] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_framework(code):
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
    while frame is not None and is_framework(frame.f_code):
        frame = frame.f_back
    if frame is None:
        return None
    positions = list(frame.f_code.co_positions())
    line, end_line, column, end_column = positions[max(frame.f_lasti, 0) // 2]
    return Span(frame.f_code.co_filename, line or frame.f_lineno, column or 0, end_line, end_column)
