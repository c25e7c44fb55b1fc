"""Syntax trees, also when several threads make them at once.

CPython 3.11 counts the depth of a tree in a variable that all threads share. If a garbage collection in the middle lets
another thread parse, the count is off and the finished tree is thrown away with a `SystemError`; trying again is right.
A lock would not help: other libraries parse as well.

What nests deeply: trees that are no error to parse, and programs that are too deep for Python's stack. Python's parser
counts the depth of a tree against the limit for nested calls, so a long sum would be refused that Python itself has
read. Only the parser runs inside `deep_trees`: its stack has room far beyond the limit, and no code of a user runs
there.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, TypeVar

from triptych.support.errors import TriptychError
from triptych.support.forking import Brief

_DEEPEST = 10_000
"""Levels of a tree, in frames of Python; the parser takes three levels, some hundred bytes each, for a frame."""

_PARSING = Brief()


class TooDeepError(TriptychError, RecursionError):
    """A program nests deeper than the compiler, or Python's own stack, can follow."""

    code = "TT0104"


@contextmanager
def deep_trees() -> Iterator[None]:
    """Raise the limit, which all threads share, for one of them at a time; a fork waits until it is back."""
    with _PARSING:
        outside = sys.getrecursionlimit()
        sys.setrecursionlimit(max(outside, _DEEPEST))
        try:
            yield
        finally:
            sys.setrecursionlimit(outside)


_ATTEMPTS = 20

T = TypeVar("T")


def parse_module(text: str) -> ast.Module:
    """The tree of a file, or of some of its statements."""
    tree: ast.Module = _parsed(text, "exec")
    return tree


def parse_expression(text: str) -> ast.expr:
    """The tree of one expression."""
    tree: ast.Expression = _parsed(text, "eval")
    return tree.body


def compile_module(text: str, file: str, flags: int) -> CodeType:
    """The code of a file, as an import makes it."""
    code: CodeType = _attempted(lambda: compile(text, file, "exec", flags=flags, dont_inherit=True))
    return code


def _parsed(text: str, mode: str) -> Any:
    return _attempted(lambda: ast.parse(text, mode=mode))


def _attempted(parse: Callable[[], T]) -> T:
    for _ in range(_ATTEMPTS):
        try:
            with deep_trees():
                return parse()
        except SystemError as error:
            failure = error
    raise failure
