"""Cascades of `if … elif … else`: one after the other instead of one inside the other.

The parser nests every `elif` in the `else` before it, so regions would be as deep as a chain is long. A long chain
becomes a block in which each `if` leaves when its test held; early exits are cheap to have many of (see `statements`).
"""

from __future__ import annotations

import ast

from triptych.prestage import sizes
from triptych.prestage.scopes import SCOPES
from triptych.prestage.walking import children


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
    if len(arms) <= sizes.MOST_NESTED:
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
