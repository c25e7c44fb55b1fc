"""AST builder and walk: the few shapes that rewritten code is made of, each located at the user's own line and column,
and a walk over what carries meaning, several times faster than `ast.walk`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

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


HOOKS = "_tt"
"""The free variable through which rewritten code reaches its hooks; `_tt` names are reserved."""

THUNK = "_tt_thunk"

LOAD, STORE = ast.Load(), ast.Store()
"""One of each is enough for all nodes, as for the parser."""

Node = TypeVar("Node", bound=ast.AST)


def at(node: Node, like: ast.AST) -> Node:
    """Give `node` and whatever in it has no place yet the place of `like`."""
    place = {
        "lineno": getattr(like, "lineno", 1),
        "col_offset": getattr(like, "col_offset", 0),
        "end_lineno": getattr(like, "end_lineno", None),
        "end_col_offset": getattr(like, "end_col_offset", None),
    }
    pending: list[ast.AST] = [node]
    while pending:
        current = pending.pop()
        if "lineno" not in current.__dict__:
            pending += children(current)
            current.__dict__.update(place)
            if isinstance(current, ast.Attribute):
                # CPython counts an attribute that spans lines, and its call, to the last line: the first is the user's.
                current.end_lineno, current.end_col_offset = current.lineno, current.col_offset
    return node


def name(identifier: str) -> ast.Name:
    return ast.Name(identifier, LOAD)


def target(identifier: str) -> ast.Name:
    return ast.Name(identifier, STORE)


def constant(value: object) -> ast.Constant:
    return ast.Constant(value)  # type: ignore[arg-type]


def hook(attribute: str) -> ast.Attribute:
    return ast.Attribute(name(HOOKS), attribute, LOAD)


def call_hook(attribute: str, *args: ast.expr) -> ast.Call:
    return ast.Call(hook(attribute), list(args), [])


def tuple_of(items: Iterable[ast.expr]) -> ast.Tuple:
    return ast.Tuple(list(items), LOAD)


def name_tuple(names: Iterable[str]) -> ast.Tuple:
    """A tuple display of strings."""
    return tuple_of(constant(n) for n in names)


def thunk(body: ast.expr) -> ast.Lambda:
    """An operand that a hook evaluates when it wants; its parameter tells it from a lambda of the user's."""
    arguments = no_arguments()
    arguments.vararg = ast.arg(THUNK)
    return ast.Lambda(arguments, body)


def no_arguments(*params: str) -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[ast.arg(p) for p in params], kwonlyargs=[], kw_defaults=[], defaults=[])


def assign(identifier: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([target(identifier)], value)


def define(function: str, params: Sequence[str], nonlocals: Iterable[str], body: Sequence[ast.stmt]) -> ast.FunctionDef:
    """`def function(params): nonlocal …; body` — a region of rewritten code."""
    declared = sorted(nonlocals)
    statements: list[ast.stmt] = [ast.Nonlocal(declared)] if declared else []
    return function_def(function, no_arguments(*params), [*statements, *body] or [ast.Pass()])


def function_def(name: str, arguments: ast.arguments, body: Sequence[ast.stmt]) -> ast.FunctionDef:
    """A bare `def`: no decorators, no annotations."""
    fields: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
    return ast.FunctionDef(
        name=name, args=arguments, body=list(body), decorator_list=[], returns=None, type_comment=None, **fields
    )
