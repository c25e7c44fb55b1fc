"""Preprocessing by the program: what it changes in the syntax tree of functions before they are rewritten.

Programs replace a method of the class that visits the trees of their kernels, `DSLPreprocessor.visit_If` say, by one of
their own, which changes a node and calls the method that was there. The methods that are there leave every node as it
is: rewriting comes later. What a program has put there is part of what its functions mean, so cache keys have it.
"""

from __future__ import annotations

import ast
from typing import Any, TypeVar

from triptych.hooks import REPLACED_VISITORS
from triptych.prestage.scopes import FunctionNode

N = TypeVar("N", bound=ast.AST)


class _Replaceable(type):
    def __setattr__(cls, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if value is _ORIGINAL.get(name):
            REPLACED_VISITORS.pop(name, None)
        elif name.startswith("visit"):
            REPLACED_VISITORS[name] = value  # type: ignore[assignment]  # what Python calls

    def __delattr__(cls, name: str) -> None:
        super().__delattr__(name)
        REPLACED_VISITORS.pop(name, None)


_ORIGINAL: dict[str, object] = {}


class DSLPreprocessor(ast.NodeTransformer, metaclass=_Replaceable):
    """Visits the tree of each function that is compiled, where the program has replaced a method."""


def _as_it_is(self: DSLPreprocessor, node: N) -> Any:
    return self.generic_visit(node)


_ORIGINAL |= {
    f"visit_{kind.__name__}": _as_it_is
    for base in (ast.stmt, ast.expr)
    for kind in base.__subclasses__()
    if kind is not ast.Constant  # its method also visits what older Pythons had for constants
}
for _name, _method in _ORIGINAL.items():
    setattr(DSLPreprocessor, _name, _method)


def preprocessed(node: FunctionNode) -> FunctionNode:
    """The tree as the program's methods leave it; new nodes have the places of those around them."""
    if not REPLACED_VISITORS:
        return node
    changed: FunctionNode = ast.fix_missing_locations(DSLPreprocessor().visit(node))
    return changed
