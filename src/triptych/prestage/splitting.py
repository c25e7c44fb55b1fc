"""Splitting of deep syntax trees: long rows of operands and long chains of `elif` become rows of statements.

A row of hundreds of operands becomes a function of statements, called where the row was. The parser nests every `elif`
in the `else` before it, so regions would be as deep as a chain is long: a long chain becomes a block in which each `if`
leaves when its test held; early exits are cheap to have many of (see `statements`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triptych.prestage import build
from triptych.prestage.build import children, descendants
from triptych.prestage.scopes import SCOPES

MOST_NESTED = 16
"""Early exits, `elif`s and lazy operands in a row that become regions inside each other: each takes seven frames of
Python's stack while tracing."""

MOST_TERMS = 64
"""Binary operators in a row that stay one expression: visitors, and Python's compiler, take a few frames for each."""

MOST_IN_A_SCOPE = 64
"""Branches and loops after each other that become functions in one scope: Python's compiler takes quadratic time."""

_VALUE, _LEFT, _RIGHT = "_tt_value", "_tt_left", "_tt_right"

LongExpression = ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp


def is_long(node: LongExpression) -> bool:
    """Whether an expression has too many operands in a row, none of which assigns a variable."""
    return _length(node) and not any(isinstance(inner, ast.NamedExpr) for inner in descendants([node]))


def _length(node: LongExpression) -> bool:
    match node:
        case ast.BinOp():
            return len(_spine(node)) > MOST_TERMS
        case ast.BoolOp():
            return len(node.values) > MOST_NESTED
        case ast.Compare():
            return len(node.ops) > MOST_NESTED
        case ast.IfExp():
            return len(_choices(node)) > MOST_NESTED


def as_function(node: LongExpression, called: str) -> ast.FunctionDef:
    """A function without parameters that gives what the expression gives."""
    match node:
        case ast.BinOp():
            body = _sum(node)
        case ast.BoolOp():
            body = _lazy_operands(node)
        case ast.Compare():
            body = _comparisons(node)
        case ast.IfExp():
            body = _choice(node)
    return build.at(build.function_def(called, build.no_arguments(), list(body)), node)


def _spine(node: ast.BinOp) -> list[ast.BinOp]:
    """The operators of a row, from the first that is applied to the last."""
    found = [node]
    while isinstance(found[-1].left, ast.BinOp):
        found.append(found[-1].left)
    return found[::-1]


def _choices(node: ast.IfExp) -> list[ast.IfExp]:
    found = [node]
    while isinstance(found[-1].orelse, ast.IfExp):
        found.append(found[-1].orelse)
    return found


def _sum(node: ast.BinOp) -> Iterator[ast.stmt]:
    spine, most = _spine(node), MOST_TERMS
    for before, after in zip(spine[most - 1 :: most], spine[most::most], strict=False):
        yield build.at(build.assign(_VALUE, before), before)
        after.left = build.at(build.name(_VALUE), before)
    yield build.at(ast.Return(node), node)


def _lazy_operands(node: ast.BoolOp) -> Iterator[ast.stmt]:
    for operand in node.values[:-1]:
        yield build.at(build.assign(_VALUE, operand), operand)
        value = build.name(_VALUE)
        decides: ast.expr = value if isinstance(node.op, ast.Or) else ast.UnaryOp(ast.Not(), value)
        yield build.at(ast.If(decides, [ast.Return(build.name(_VALUE))], []), operand)
    yield build.at(ast.Return(node.values[-1]), node.values[-1])


def _comparisons(node: ast.Compare) -> Iterator[ast.stmt]:
    yield build.at(build.assign(_LEFT, node.left), node.left)
    for op, operand in zip(node.ops, node.comparators, strict=True):
        yield build.at(build.assign(_RIGHT, operand), operand)
        outcome = ast.Compare(build.name(_LEFT), [op], [build.name(_RIGHT)])
        yield build.at(build.assign(_VALUE, outcome), operand)
        fails = ast.UnaryOp(ast.Not(), build.name(_VALUE))
        yield build.at(ast.If(fails, [ast.Return(build.name(_VALUE))], []), operand)
        yield build.at(build.assign(_LEFT, build.name(_RIGHT)), operand)
    yield build.at(ast.Return(build.name(_VALUE)), node)


def _choice(node: ast.IfExp) -> Iterator[ast.stmt]:
    choices = _choices(node)
    for choice in choices:
        yield build.at(ast.If(choice.test, [ast.Return(choice.body)], []), choice.test)
    yield build.at(ast.Return(choices[-1].orelse), choices[-1].orelse)


class LeavableBlock(ast.stmt):
    """Statements that a `Leave` among them goes to the end of."""

    _fields = ("body",)

    body: list[ast.stmt]


class Leave(ast.stmt):
    """A jump to the end of `block`."""

    _fields = ()

    block: LeavableBlock


def flatten_chains(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, and those below them but for nested functions and classes, with their long chains made flat."""
    flat = [_flattened(statement) for statement in statements]
    pending: list[ast.AST] = list(flat)
    while pending:
        node = pending.pop()
        if isinstance(node, SCOPES):
            continue
        for field in ("body", "orelse"):
            if field in node._fields and isinstance(node, ast.stmt | ast.match_case):
                setattr(node, field, [_flattened(statement) for statement in getattr(node, field)])
        pending += [child for child in children(node) if isinstance(child, ast.stmt | ast.match_case)]
    return flat


def _flattened(statement: ast.stmt) -> ast.stmt:
    arms: list[ast.If] = []
    rest: list[ast.stmt] = [statement]
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        arms.append(rest[0])
        rest = rest[0].orelse
    if len(arms) <= MOST_NESTED:
        return statement
    block = ast.copy_location(LeavableBlock(), statement)
    block.body = []
    for arm in arms:
        leave = ast.copy_location(Leave(), arm.body[-1])
        leave.block = block
        arm.body, arm.orelse = [*arm.body, leave], []
        block.body.append(arm)
    block.body += rest
    return block
