"""AST walk over what carries meaning, several times faster than `ast.walk`, as the pre-stage asks often."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

_CHILDLESS = frozenset(
    {"arg", "attr", "asname", "conversion", "ctx", "id", "is_async", "kind", "module", "op", "ops", "type_comment"}
)
"""Fields that hold text, numbers, or the shared nodes of contexts and operators: half of what `ast.walk` visits."""


_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def child_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that may hold nodes, in source order."""
    known = _FIELDS.get(kind)
    if known is None:
        known = _FIELDS[kind] = tuple(field for field in kind._fields if field not in _CHILDLESS)
    return known


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below `node`, in source order, without contexts and operators."""
    found: list[ast.AST] = []
    for field in child_fields(node.__class__):
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
    return found


def descendants(nodes: Iterable[ast.AST], below: Callable[[ast.AST], list[ast.AST]] = children) -> list[ast.AST]:
    """The given nodes and everything below them."""
    found = list(nodes)
    for node in found:
        found += below(node)
    return found


def operands_of(node: ast.BinOp) -> list[ast.expr]:
    """What a row of binary operators works on, from left to right: `a + b * c - d` is made of a, `b * c` and d."""
    found: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp):
        found.append(left.right)
        left = left.left
    return [left, *reversed(found)]
