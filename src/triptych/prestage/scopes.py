"""Scopes: names that are local to a function, that a statement stores, that a nested scope reads from outside.

Private names: `__x` in a class body is `_Class__x`; a method rewritten outside its class needs it spelled out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import pairwise

from triptych.prestage.build import children, descendants

FunctionNode = ast.FunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def parameters(function: FunctionNode) -> list[str]:
    """Parameter names in order."""
    args = function.args
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [arg.arg for arg in every if arg is not None]


def stores(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that running `nodes` may bind or delete in the enclosing function's scope."""
    found: set[str] = set()
    pending = [(node, False) for node in nodes]
    while pending:
        node, comprehension = pending.pop()
        match node:
            case ast.Name():
                if not comprehension and not isinstance(node.ctx, ast.Load):
                    found.add(node.id)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.NamedExpr(target=ast.Name(id=name)):
                found.add(name)
            case ast.alias():
                found.add(imported_name(node))
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                comprehension = True
            case _:
                pass
        pending += [(child, comprehension) for child in running(node)]
    return found


def imported_name(node: ast.alias) -> str:
    """The variable that `import node` binds."""
    return (node.asname or node.name).partition(".")[0]


def running(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below that run when `node` runs: of a nested function or class, what its definition does."""
    return evaluated_at_definition(node) if isinstance(node, SCOPES) else children(node)


def evaluated_at_definition(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef) -> list[ast.AST]:
    """The expressions of a nested function or class that run when it is defined: decorators, defaults, bases."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        case ast.Lambda():
            return [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        case ast.ClassDef():
            return [*node.decorator_list, *node.bases, *node.keywords]


def local_names(function: FunctionNode) -> set[str]:
    """Every name that is local to the function: parameters and whatever its body binds."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    return stores(body) | set(parameters(function))


def own_names(comprehension: Comprehension) -> set[str]:
    """The names that a comprehension's targets bind, visible in it alone."""
    targets = descendants(generator.target for generator in comprehension.generators)
    return {node.id for node in targets if isinstance(node, ast.Name)}


def free_reads(scope: ast.AST) -> set[str]:
    """Names a nested scope reads without binding them itself (an over-approximation is harmless)."""
    bound: set[str] = set()
    now: list[ast.AST] = []
    match scope:
        case ast.FunctionDef() | ast.Lambda():
            bound, now = local_names(scope), evaluated_at_definition(scope)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            bound, now = own_names(scope), [scope.generators[0].iter]
        case _:
            pass
    later = descendants([scope], lambda node: [child for child in children(node) if child not in now])
    return {n.id for n in later if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - bound


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
