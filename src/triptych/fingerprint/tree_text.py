"""Object-stage, syntax tree -> text: what `ast.dump` gives, without docstrings, for trees of any depth."""

from __future__ import annotations

import ast
from typing import Any


class _Mark(str):
    """Punctuation, which is written as it is."""


def tree_text(tree: ast.AST) -> str:
    """A text that tells any two trees apart that differ in more than places and docstrings."""
    written: list[str] = []
    pending: list[Any] = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.AST):
            fields = [(_Mark(f"{name}="), _field(item, name)) for name in item._fields]
            parts = [part for pair in fields for part in pair]
            pending += reversed([_Mark(f"{type(item).__name__}("), *parts, _Mark(")")])
        elif isinstance(item, list):
            pending += reversed([_Mark("["), *item, _Mark("]")])
        else:
            written.append(item if type(item) is _Mark else f"{item!r},")
    return "".join(written)


def _field(node: ast.AST, name: str) -> Any:
    value: Any = getattr(node, name, None)
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    documented = name == "body" and is_function and ast.get_docstring(node, clean=False) is not None  # type: ignore[arg-type]
    return value[1:] if documented else value
