"""Names: which are local to a function, which a piece of code stores, and which nested scopes capture."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

FunctionNode = ast.FunctionDef | ast.Lambda
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def parameters(function: FunctionNode) -> list[str]:
    """Parameter names in order."""
    args = function.args
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [arg.arg for arg in every if arg is not None]


def stores(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that running `nodes` may bind or delete in the enclosing function's scope."""
    found: set[str] = set()
    for node in nodes:
        found.update(_stores(node))
    return found


def _stores(node: ast.AST, comprehension: bool = False) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            if not comprehension:
                yield name
            return
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
            for child in evaluated_at_definition(node):
                yield from _stores(child, comprehension)
            return
        case ast.Lambda():
            for child in evaluated_at_definition(node):
                yield from _stores(child, comprehension)
            return
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name
            yield from _stores(value, comprehension)
            return
        case ast.alias(name=name, asname=asname):
            yield (asname or name).partition(".")[0]
            return
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case _:
            pass
    inside = comprehension or isinstance(node, _COMPREHENSIONS)
    for child in ast.iter_child_nodes(node):
        yield from _stores(child, inside)


def evaluated_at_definition(node: ast.AST) -> list[ast.AST]:
    """The expressions of a nested function or class that run when it is defined: decorators, defaults, bases."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        case ast.Lambda():
            return [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        case ast.ClassDef():
            return [*node.decorator_list, *node.bases, *node.keywords]
        case _:
            return []


def local_names(function: FunctionNode) -> set[str]:
    """Every name that is local to the function: parameters and whatever its body binds."""
    body: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else list(function.body)
    return stores(body) | set(parameters(function))


def captured(function: FunctionNode) -> set[str]:
    """Locals of `function` that nested functions, lambdas or classes read: alive as long as those are."""
    own = local_names(function)
    body: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else list(function.body)
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, _SCOPES):
                found |= _free_loads(node)
    return found & own


def _free_loads(scope: ast.AST) -> set[str]:
    """Names a nested scope reads without binding them itself (an over-approximation is harmless)."""
    bound = local_names(scope) if isinstance(scope, ast.FunctionDef | ast.Lambda) else set()
    loads = {n.id for n in ast.walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return loads - bound
