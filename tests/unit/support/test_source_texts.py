"""Syntax trees made by several threads at once: CPython 3.11 may throw a finished one away."""

from __future__ import annotations

import ast
import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from triptych.support.source_texts import parse_expression, parse_module

TEXT = "\n".join(f"def f{i}(a, b):\n    return [a + b * {i}, (a, b)]\n" for i in range(60))


class LetsOthersRun:
    """Garbage in a cycle: found by a collection in the middle of anything, which then waits."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(0.0001)


@pytest.fixture
def busy_collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)


def parsed_at_depth(depth: int) -> str:
    """Threads of different depths leave different counts."""
    if depth:
        return parsed_at_depth(depth - 1)
    for _ in range(60):
        LetsOthersRun()
        parse_module(TEXT)
    return ast.dump(parse_module(TEXT))


@pytest.mark.usefixtures("busy_collector")
def test_threads_do_not_disturb_one_another() -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(parsed_at_depth, (0, 7, 14, 21)))
    assert found == [ast.dump(ast.parse(TEXT))] * 4


def test_a_tree_that_was_thrown_away_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[str] = []

    def disturbed(text: str, mode: str) -> ast.AST:
        attempts.append(text)
        if len(attempts) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=69, after=72)")
        return compile(text, "<text>", mode, ast.PyCF_ONLY_AST)

    expected = ast.dump(ast.parse("a + 1", mode="eval").body)
    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.dump(parse_expression("a + 1")) == expected
    assert len(attempts) == 3


def test_a_defect_of_the_parser_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str, mode: str) -> ast.AST:
        raise SystemError(text + mode)

    monkeypatch.setattr(ast, "parse", broken)
    with pytest.raises(SystemError, match="aexec"):
        parse_module("a")


def test_wrong_text_is_a_syntax_error() -> None:
    with pytest.raises(SyntaxError):
        parse_expression("a b")
