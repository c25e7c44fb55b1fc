"""Tracebacks as users see them: their own frames, in order, one for each function."""

from __future__ import annotations

import json
import linecache
import sys
from types import CodeType, TracebackType

import pytest

from tests.unit.prestage.sources import module
from triptych.hooks import PythonHooks
from triptych.prestage.rewrite import rewrite
from triptych.support.source import Span
from triptych.support.tracebacks import caller, in_one_line, is_framework, raised_at, user_traceback

PROGRAM = """
def outer(n):
    return inner(n)

def inner(n):
    for i in range(n):
        if i > 1:
            return 1 // 0
"""


def shown(traceback: TracebackType | None) -> list[tuple[str, int]]:
    found = []
    while traceback is not None:
        found.append((traceback.tb_frame.f_code.co_name, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


def name(code: CodeType) -> str:
    return code.co_name


def test_framework_frames_go_and_regions_of_one_function_shrink_to_the_innermost() -> None:
    with module(PROGRAM) as namespace:
        for called in ("outer", "inner"):
            namespace[called] = rewrite(namespace[called]).bind(PythonHooks())
        with pytest.raises(ZeroDivisionError) as raised:
            namespace["outer"](5)
        traceback = user_traceback(raised.value.__traceback__, name)
    here = test_framework_frames_go_and_regions_of_one_function_shrink_to_the_innermost.__name__
    assert [frame[0] for frame in shown(traceback)] == [here, "outer", "inner"]
    assert shown(traceback)[1:] == [("outer", 3), ("inner", 8)]


def test_no_traceback_stays_none() -> None:
    assert user_traceback(None, name) is None


def test_what_belongs_to_the_framework() -> None:
    assert is_framework(PythonHooks().call(sys._getframe))
    assert not is_framework(sys._getframe())


def test_the_caller_is_the_users_line_and_columns() -> None:
    span = PythonHooks().call(caller)
    assert span is not None
    line = linecache.getline(span.file, span.line)
    assert span.file == __file__
    assert line[span.column : span.end_column] == "PythonHooks().call(caller)"


def test_where_an_error_was_raised_in_the_program() -> None:
    """A library's frames are left out, the place that an error names itself is taken, and no traceback is no place."""
    with module(PROGRAM) as namespace:
        with pytest.raises(ZeroDivisionError) as raised:
            namespace["outer"](3)
        place = raised_at(raised.value)
        assert place is not None
        assert place.line == PROGRAM.splitlines().index("            return 1 // 0") + 1
        assert in_one_line(raised.value).endswith(f"(line {place.line} of {place.file.rpartition('/')[2]})")
    with pytest.raises(TypeError) as inside:
        json.dumps(object())
    where = raised_at(inside.value)
    assert where is not None
    assert where.file == __file__
    assert in_one_line(ValueError("two\nlines")) == "ValueError: two"
    assert in_one_line(ValueError()) == "ValueError"
    own = ValueError("at its place")
    own.span = Span("kernel.py", 7)  # type: ignore[attr-defined]
    assert in_one_line(own) == "ValueError: at its place (line 7 of kernel.py)"
