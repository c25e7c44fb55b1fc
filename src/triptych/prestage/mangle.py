"""Private names: `__x` in a class body is `_Class__x`; a method rewritten outside its class needs it spelled out."""

from __future__ import annotations

import ast


def mangle(node: ast.AST, qualname: str) -> None:
    """Spell private names in `node` as Python compiled them in the class that `qualname` says it was defined in."""
    owner = qualname.rpartition(".")[0].rpartition(".")[2].lstrip("_")
    if not owner or owner == "<locals>":
        return
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name) if _is_private(name):
                inner.id = f"_{owner}{name}"
            case ast.Attribute(attr=name) if _is_private(name):
                inner.attr = f"_{owner}{name}"
            case ast.arg(arg=name) if _is_private(name):
                inner.arg = f"_{owner}{name}"
            case _:
                pass


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")
