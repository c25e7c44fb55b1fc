"""Tracebacks as users see them: their own frames, in order, one for each function."""

from __future__ import annotations

import linecache
import sys
from types import CodeType, TracebackType

import pytest

from tests.unit.prestage.sources import module
from triptych.hooks import PythonHooks
from triptych.prestage.rewrite import rewrite
from triptych.support.tracebacks import caller, is_framework, user_traceback

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
