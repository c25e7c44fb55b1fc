"""Syntax trees, also when several threads make them at once.

CPython 3.11 counts the depth of a tree in a variable that all threads share. If a garbage collection in the middle lets
another thread parse, the count is off and the finished tree is thrown away with a `SystemError`; trying again is right.
A lock would not help: other libraries parse as well.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

from triptych.support.recursion import deep_trees

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
