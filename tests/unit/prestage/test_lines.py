"""Source lines stay right in rewritten code: in tracebacks, for debuggers, and for coverage."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.laws.test_rewriting import INPUTS, TABLE, rewrite_all, rewritten
from tests.unit.prestage.sources import function, module

Prepare = Callable[[dict[str, Any]], None]


def as_written(namespace: dict[str, Any]) -> None:
    """Leave a module alone."""


def executed(text: str, prepare: Prepare) -> list[set[int]]:
    """The lines that each call of a program's `f` runs, as `sys.settrace` sees them."""
    with module(text, say=lambda value: value) as namespace:
        prepare(namespace)
        file = namespace["__name__"]
        seen: list[set[int]] = []

        def trace(frame: FrameType, event: str, _argument: object) -> Any:
            if event == "line" and frame.f_code.co_filename == file:
                seen[-1].add(frame.f_lineno)
            return trace

        previous = sys.gettrace()
        for arguments in calls(namespace["f"]):
            seen.append(set())
            sys.settrace(trace)
            try:
                namespace["f"](*arguments)
            except Exception:  # the lines up to it count
                pass
            finally:
                sys.settrace(previous)
        return seen


def calls(called: Callable[..., Any]) -> list[tuple[int, ...]]:
    arity = called.__code__.co_argcount
    return [(n,) * arity for n in INPUTS[1]] + ([(1, 3), (4, 2)] if arity == 2 else [])


def first_lines(text: str) -> dict[int, int]:
    """The line that each line of a statement over several lines counts to."""
    found: dict[int, int] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt | ast.match_case):
            last = node.body[0].lineno - 1 if hasattr(node, "body") else node.end_lineno
            first = node.lineno if isinstance(node, ast.stmt) else node.pattern.lineno
            found |= dict.fromkeys(range(first, (last or first) + 1), first)
    return found


def definitions(text: str) -> set[int]:
    return {node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("text", TABLE.values(), ids=TABLE.keys())
def test_the_same_lines_run(text: str) -> None:
    counted = first_lines(text)
    for plain, new in zip(executed(text, as_written), executed(text, rewrite_all), strict=True):
        right = {counted[line] for line in plain}
        found = {counted[line] for line in new}
        assert found - definitions(text) == right - definitions(text)


def frames(error: BaseException, file: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            found.append((traceback.tb_frame.f_code.co_name, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


def failures(text: str, prepare: Prepare) -> list[list[tuple[str, int]]]:
    found = []
    with module(text, say=lambda value: value) as namespace:
        prepare(namespace)
        for arguments in calls(namespace["f"]):
            try:
                namespace["f"](*arguments)
            except Exception as error:
                found.append(frames(error, namespace["__name__"]))
    return found


@pytest.mark.parametrize("text", TABLE.values(), ids=TABLE.keys())
def test_exceptions_point_at_the_same_line(text: str) -> None:
    """The innermost frame is the same; further out, regions repeat the user's own function."""
    for plain, new in zip(failures(text, as_written), failures(text, rewrite_all), strict=True):
        assert new[-1] == plain[-1]
        assert {name for name, _ in new} == {name for name, _ in plain}


DEEP = """
def f(n):
    total = 0
    for i in range(n):
        if i > 1 and not (i == 2 or n == 3):
            while True:
                total += (
                    i
                    // (i - i)
                )
    return total
"""


def test_an_exception_deep_inside_names_the_function_and_the_line() -> None:
    with function(DEEP) as original, pytest.raises(ZeroDivisionError) as raised:
        rewritten(original)(9)
    found = frames(raised.value, original.__code__.co_filename)
    assert {name for name, _ in found} == {"f"}
    assert found[-1] == ("f", 8)


def test_code_objects_carry_the_names_of_the_user() -> None:
    text = """
    class C:
        def f(self, n):
            if n:
                def g():
                    return lambda: (n and g)
            return [g for _ in range(1)]
    """
    with module(textwrap.dedent(text)) as namespace:
        nested = rewritten(namespace["C"].f)(None, 1)[0]
        assert nested.__qualname__ == namespace["C"]().f(1)[0].__qualname__ == "C.f.<locals>.g"
        assert nested().__qualname__ == "C.f.<locals>.g.<locals>.<lambda>"
        assert rewritten(namespace["C"].f).__code__.co_qualname == "C.f"


PROGRAM = '''
def f(n):
    """Count."""
    total = 0
    for i in range(n):
        if i == 2:
            continue
        if i > 3:
            return total
        total += (
            i
        )
    else:
        total = -1
    while total > 100:
        total -= 1
    return total
'''
MEASURE = """
import coverage, importlib, sys
program = importlib.import_module("program")
measured = coverage.Coverage(data_file=None, include=["*program.py"], config_file=False)
f = program.f
if sys.argv[1] == "rewritten":
    from triptych.hooks import PythonHooks
    from triptych.prestage.rewrite import rewrite
    f = rewrite(f).bind(PythonHooks())
measured.start()
for n in map(int, sys.argv[2:]):
    f(n)
measured.stop()
_, statements, _, missing, _ = measured.analysis2(program)
print(sorted(set(statements) - set(missing) - {2}))
"""


@pytest.mark.parametrize("arguments", ["0", "2", "3", "9", "0 9"])
def test_coverage_counts_the_same_lines(tmp_path: Path, arguments: str) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "measure.py").write_text(MEASURE)

    def measured(which: str) -> str:
        command = [sys.executable, "measure.py", which, *arguments.split()]
        path = {"PYTHONPATH": ":".join([str(tmp_path), *filter(None, sys.path)])}
        return subprocess.run(command, cwd=tmp_path, env=path, check=True, capture_output=True, text=True).stdout

    assert measured("rewritten") == measured("plain") != "[]\n"
