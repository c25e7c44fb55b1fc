"""Private names: `__x` in a class body is `_Class__x`; a method rewritten outside its class needs it spelled out."""

from __future__ import annotations

import ast
from itertools import pairwise

from triptych.prestage.scopes import running
from triptych.prestage.walking import children, descendants

_NAMED: dict[type[ast.AST], str] = {
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.arg: "arg",
    ast.alias: "asname",
    ast.FunctionDef: "name",
    ast.ClassDef: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}
"""Nodes that name something Python mangles, and the field that does."""


def mangle(function: ast.FunctionDef | ast.Lambda, qualname: str) -> None:
    """Spell private names in `function` as Python compiled them in the class that `qualname` says it was defined in."""
    owner = _owner(qualname)
    if not owner:
        return
    for node in descendants(children(function), _outside_classes):
        field = _NAMED.get(type(node), "")
        name = getattr(node, field, None)
        if name is not None:
            setattr(node, field, _spelled(name, owner))


def mangled(names: list[str], qualname: str) -> list[str]:
    """Variables of a function as its code object names them."""
    owner = _owner(qualname)
    return [_spelled(name, owner) if owner else name for name in names]


def _owner(qualname: str) -> str:
    """The innermost class around a function: in a qualified name, functions are followed by `<locals>`."""
    parts = qualname.split(".")
    classes = [part for part, following in pairwise(parts) if "<locals>" not in (part, following)]
    return classes[-1].lstrip("_") if classes else ""


def _outside_classes(node: ast.AST) -> list[ast.AST]:
    """Python mangles what is in a nested class by that class's own name."""
    return running(node) if isinstance(node, ast.ClassDef) else children(node)


def _spelled(name: str, owner: str) -> str:
    return f"_{owner}{name}" if name.startswith("__") and not name.endswith("__") else name
