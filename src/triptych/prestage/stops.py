"""Pre-stage, builds for a debugger: which statements say that they are about to run."""

from __future__ import annotations

import ast

from triptych.prestage.cascades import LeavableBlock, Leave

_BARE_RETURN = len("return")


def is_stop(statement: ast.stmt) -> bool:
    """Whether Python would stop there: a statement that the user wrote and that does something.

    A call of `breakpoint` stops by itself.
    """
    match statement:
        case LeavableBlock() | Leave() | ast.Nonlocal() | ast.Global() | ast.Expr(value=ast.Constant()):
            return False
        case ast.Expr(value=ast.Call(func=ast.Name(id="breakpoint"))):
            return False
        case ast.Return(value=None):  # that of the end, which nobody wrote, lies at the last statement
            return (statement.end_col_offset or 0) - statement.col_offset == _BARE_RETURN
        case _:
            return True
