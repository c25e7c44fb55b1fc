"""Which constructs of the language a program uses, read off its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def constructs(source: str) -> set[str]:
    """Return the names of all constructs found in the module text."""
    return set(_found(ast.parse(source), loops=0, in_function=False))


def _found(node: ast.AST, loops: int, in_function: bool) -> Iterator[str]:
    yield from _of_node(node, loops, in_function)
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        loops, in_function = 0, True
    inside = loops + 1 if isinstance(node, ast.For | ast.While) else loops
    for child in ast.iter_child_nodes(node):
        yield from _found(child, inside, in_function)


def _of_node(node: ast.AST, loops: int, in_function: bool) -> Iterator[str]:
    match node:
        case ast.If():
            yield "if"
            if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
                yield "elif"
            elif node.orelse:
                yield "else"
        case ast.For() | ast.While():
            yield from _of_loop(node, loops)
        case ast.Break() | ast.Continue():
            yield type(node).__name__.lower() + (" in nested loops" if loops > 1 else "")
        case ast.Return() if loops:
            yield "return in nested loops" if loops > 1 else "return in loop"
        case ast.FunctionDef():
            yield "nested function" if in_function else "function"
        case ast.Assign():
            yield from _of_targets(node)
        case ast.BinOp():
            yield from _of_operator(node)
        case ast.AugAssign():
            yield f"augmented {type(node.op).__name__}"
        case ast.BoolOp() | ast.UnaryOp():
            yield type(node.op).__name__
        case ast.Compare() if len(node.ops) > 1:
            yield "chained comparison"
            if any(isinstance(middle, ast.Call) for middle in node.comparators[:-1]):
                yield "call in the middle of a chained comparison"
        case ast.Call():
            yield from _of_call(node)
        case ast.IfExp() | ast.NamedExpr() | ast.Delete() | ast.Assert() | ast.ListComp() | ast.Subscript():
            yield type(node).__name__


def _of_loop(node: ast.For | ast.While, loops: int) -> Iterator[str]:
    name = type(node).__name__.lower()
    yield name
    if node.orelse:
        yield f"{name}/else"
    if loops:
        yield "nested loops"
    match node:
        case ast.For(iter=ast.Call(func=ast.Name("range"), args=bounds)):
            yield f"range of {len(bounds)}"
        case ast.For():
            yield "static iteration"
        case ast.While(test=ast.Constant(True)):
            yield "while True"


def _of_targets(node: ast.Assign) -> Iterator[str]:
    if len(node.targets) > 1:
        yield "chained assignment"
    match node.targets[0], node.value:
        case ast.Tuple(elts=targets), _ if any(isinstance(target, ast.Starred) for target in targets):
            yield "starred unpacking"
        case ast.Tuple(elts=[ast.Name(a), ast.Name(b)]), ast.Tuple(elts=[ast.Name(c), ast.Name(d)]) if (a, b) == (d, c):
            yield "swap"
        case ast.Tuple(), ast.Call():
            yield "tuple from a call"
        case ast.Tuple(), ast.Tuple():
            yield "tuple assignment"
        case ast.Tuple(), _:
            yield "tuple unpacking"
        case _, ast.Tuple():
            yield "tuple variable"


def _of_operator(node: ast.BinOp) -> Iterator[str]:
    yield type(node.op).__name__
    match node.op, node.right:
        case ((ast.FloorDiv() | ast.Mod()), ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value))):
            yield f"{type(node.op).__name__} by a negative {type(value).__name__}"


def _of_call(node: ast.Call) -> Iterator[str]:
    match node.func:
        case ast.Lambda():
            yield "lambda"
        case ast.Name(name) if name.startswith("h"):
            yield "helper call"
        case ast.Name(name) if name.startswith("g"):
            yield "nested function call"
    if node.keywords:
        yield "keyword argument"
