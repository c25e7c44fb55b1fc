"""Syntax trees, also when several threads make them at once.

CPython 3.11 counts the depth of a tree in a variable that all threads share. If a garbage collection in the middle lets
another thread parse, the count is off and the finished tree is thrown away with a `SystemError`; trying again is right.
A lock would not help: other libraries parse as well.
"""

from __future__ import annotations

import ast
from typing import Any

_ATTEMPTS = 20


def parse_module(text: str) -> ast.Module:
    """The tree of a file, or of some of its statements."""
    tree: ast.Module = _parsed(text, "exec")
    return tree


def parse_expression(text: str) -> ast.expr:
    """The tree of one expression."""
    tree: ast.Expression = _parsed(text, "eval")
    return tree.body


def _parsed(text: str, mode: str) -> Any:
    for _ in range(_ATTEMPTS):
        try:
            return ast.parse(text, mode=mode)
        except SystemError as error:
            failure = error
    raise failure
