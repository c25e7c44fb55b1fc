"""Kernels that can wait: every call of a function that threads meet in becomes a `yield`.

Plain Python then runs each thread as a generator, and the text keeps its own control flow: nothing of the pre-stage
takes part in the reference.
"""

from __future__ import annotations

import ast
from collections.abc import Collection


def suspending(source: str, meeting: Collection[str]) -> ast.Module:
    """The module with `cute.arch.<meeting>(...)` as `(yield ...)`, and calls of functions that do so delegated to."""
    tree = ast.parse(source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    waiting: set[str] = set()
    while True:  # a function that calls a waiting function waits
        found = {f.name for f in functions if any(_waits(node, meeting, waiting) for node in ast.walk(f))}
        if found == waiting:
            break
        waiting = found
    _Suspend(meeting, waiting).visit(tree)
    return ast.fix_missing_locations(tree)


def _waits(node: ast.AST, meeting: Collection[str], waiting: Collection[str]) -> bool:
    return isinstance(node, ast.Call) and (_meets(node, meeting) or _delegates(node, waiting))


def _meets(node: ast.Call, meeting: Collection[str]) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr in meeting


def _delegates(node: ast.Call, waiting: Collection[str]) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in waiting


class _Suspend(ast.NodeTransformer):
    def __init__(self, meeting: Collection[str], waiting: Collection[str]) -> None:
        self._meeting = meeting
        self._waiting = waiting

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if _meets(node, self._meeting):
            return ast.copy_location(ast.Yield(node), node)
        return ast.copy_location(ast.YieldFrom(node), node) if _delegates(node, self._waiting) else node
