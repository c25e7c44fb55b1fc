"""Functions of 2,000 statements, branches or terms compile, in time that grows with their length, and mean the same."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import FunctionType
from typing import Any

import pytest

import triptych as tt
from triptych.hooks import PythonHooks
from triptych.prestage.rewrite import rewrite
from triptych.support.source_texts import TooDeepError

LENGTH = 2_000

_numbers = count()


def lines(*parts: str) -> str:
    return "\n".join(("def f(x: Int32):", *(f"    {line}" for part in parts for line in part.splitlines())))


def row(between: str, item: Callable[[int], str], length: int) -> str:
    return between.join(item(k) for k in range(length))


SHAPES: dict[str, Callable[[int], str]] = {
    "early returns": lambda n: lines(*(f"if x == {k}: return {k * 7 % 13}" for k in range(n)), "return -1"),
    "elifs": lambda n: lines(
        "if x < 0: y = -2", *(f"elif x == {k}: y = {k * 7 % 13}" for k in range(n)), "else: y = -1", "return y"
    ),
    "elifs that return": lambda n: lines(
        "if x < 0: return -2", *(f"elif x == {k}: return {k * 7 % 13}" for k in range(n)), "return -1"
    ),
    "branches": lambda n: lines("y = 0", *(f"if x > {k}: y = y + {k}" for k in range(n)), "return y"),
    "branches with exits": lambda n: lines(
        "y = 0", *(f"if x > {k}:\n    y = y + 1\n    if y == {k}: return y" for k in range(1, n)), "return y"
    ),
    "breaks": lambda n: lines(
        "y = 0", "for i in range(x % 3):", *(f"    if y == {k + 2}: break\n    y = y + 2" for k in range(n)), "return y"
    ),
    "continues": lambda n: lines(
        "y = 0", "for i in range(3):", *(f"    if y == {3 * k}: continue\n    y = y + x" for k in range(n)), "return y"
    ),
    "statements": lambda n: lines("y = x", *(f"y = (y * 3 + {k}) % 1000" for k in range(n)), "return y"),
    "sum": lambda n: lines(f"return {row(' + ', lambda k: f'x % {k + 1}', n)}"),
    "mixed operators": lambda n: lines(f"return {row(' - ', lambda k: f'x * 2 + {k}', n // 2)}"),
    "and": lambda n: lines(f"return {row(' and ', lambda k: f'x != {k}', n)}"),
    "or": lambda n: lines(f"return {row(' or ', lambda k: f'x == {k}', n)}"),
    "comparison": lambda n: lines(f"return {row(' <= ', lambda k: f'x % {n - k}', n)}"),
    "choices": lambda n: lines(f"return {row(' else ', lambda k: f'{k * 7 % 13} if x == {k}', n)} else -1"),
    "and in a test": lambda n: lines(f"if {row(' and ', lambda k: f'x != {k}', n)}: return 1", "return 2"),
}
each_shape = pytest.mark.parametrize("shape", SHAPES)


@contextmanager
def made(text: str) -> Iterator[FunctionType]:
    """The function, whose source can be found."""
    file = f"<long program {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"Int32": tt.Int32}
    exec(compile(text, file, "exec"), namespace)
    yield namespace["f"]
    del linecache.cache[file]


def inputs(length: int) -> list[int]:
    return [-1, 0, 1, length // 2, length - 1, length + 5]


@pytest.mark.slow
@each_shape
def test_rewriting_changes_nothing(shape: str) -> None:
    with made(SHAPES[shape](LENGTH)) as function:
        rewritten = rewrite(function).bind(PythonHooks())
        for value in inputs(LENGTH):
            assert rewritten(value) == function(value)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["early returns", "elifs", "sum"])
def test_compiled_code_agrees(shape: str) -> None:
    with made(SHAPES[shape](LENGTH)) as function:
        compiled = tt.compile(function, tt.Int32(1), opt_level=0)
        for value in inputs(LENGTH):
            assert compiled(value) == function(value)


@each_shape
def test_rows_of_two_hundred(shape: str) -> None:
    """As many as were too deep for Python's stack when each was inside the one before."""
    with made(SHAPES[shape](200)) as function:
        compiled = tt.compile(function, tt.Int32(1), opt_level=0)
        for value in inputs(200):
            assert compiled(value) == function(value)


@pytest.mark.parametrize(
    "text",
    [
        lines("g = lambda y: " + row(" and ", lambda k: f"y != {k}", 400), "return g(x)"),
        lines("return [x" + " + 1" * 1_500 + " for _ in range(2)][0]"),
        lines("return x" + ".real" * 900),
        lines(f"return (y := x){' + 1' * 1_500}"),
    ],
    ids=["lambda", "comprehension", "attributes", "walrus"],
)
def test_what_cannot_be_cut_up_is_an_error_at_its_line(text: str) -> None:
    with made(text) as function, pytest.raises(TooDeepError) as refused:
        tt.compile(function, tt.Int32(1))
    assert refused.value.span is not None
    assert refused.value.span.file == function.__code__.co_filename
    assert refused.value.span.line == 2
    assert refused.value.instead


def test_regions_are_counted_where_python_has_no_limit() -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        text = lines("g = lambda y: " + row(" and ", lambda k: f"y != {k}", 3_000), "return g(x)")
        with made(text) as function, pytest.raises(TooDeepError, match="501 branches and loops"):
            tt.compile(function, tt.Int32(1))
    finally:
        sys.setrecursionlimit(limit)


def test_the_limit_of_python_is_as_before() -> None:
    limit = sys.getrecursionlimit()
    with made(SHAPES["sum"](LENGTH)) as function:
        rewrite(function)
    assert sys.getrecursionlimit() == limit


def test_a_variable_that_is_dead_after_an_exit_may_change_its_type() -> None:
    @tt.jit
    def f(x: tt.Int32) -> Any:
        t = tt.Float64(x)
        if x > 1:
            if x > 2 and x > 3:
                return tt.Float64(0)
            t = x * 2  # type: ignore[assignment]
            if x > 2 and x < 5:
                return tt.Float64(t)
            t = tt.Float64(7)
        return t

    assert [f(x) for x in (1, 2, 3, 4)] == [1.0, 7.0, 6.0, 0.0]
