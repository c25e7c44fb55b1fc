"""Join errors of values: naming both definitions and both types, found in the source only when needed."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from triptych.hooks import UNDEFINED
from triptych.metastage.control_flow.join_plans import MismatchError, Partial, bare
from triptych.metastage.trace.errors import CarriedTypeError, JoinTypeError, MaybeUndefinedError, ReturnTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.aggregates import describe
from triptych.support.errors import TriptychError
from triptych.support.source import Span
from triptych.support.source_texts import parse_module


def branch_mismatch(name: str, mismatch: MismatchError, returning: bool) -> TriptychError:
    """The two sides of a branch leave values in `name` that no one type holds."""
    span = place()
    sides = _sides(span)
    if returning:
        found = [list(_returns(side, span)) for side in sides]
        every = [s for side in found for s in side]
        return ReturnTypeError(
            "the function returns values of different types",
            span=every[-1] if every else span,
            found=f"{mismatch.left} on one path and {mismatch.right} on the other",
            expected="one type on all paths",
            instead=_conversion(mismatch),
            related=[("the other return", s) for s in every[:-1][:1]],
        )
    found = [list(_stores(side, name, span)) for side in sides]
    labels = ("defined here when the condition is true", "defined here when the condition is false")
    variable = f"`{name}{mismatch.path}`" if name else "the conditional expression"
    return JoinTypeError(
        f"{variable} has different types on the two paths of a run-time condition",
        span=span,
        found=f"{mismatch.left} on one path and {mismatch.right} on the other",
        expected="one type on both paths",
        instead=_conversion(mismatch),
        related=[(label, spans[-1]) for label, spans in zip(labels, found, strict=True) if spans],
    )


def loop_mismatch(name: str, mismatch: MismatchError, before: object) -> TriptychError:
    """A carried variable ends an iteration with another type than it started with."""
    span = place()
    stores = [s for side in _sides(span) for s in _stores(side, name, span)]
    start = describe(bare(before)) if bare(before) is not UNDEFINED else mismatch.left
    instead = f"`{name} = {mismatch.right}(...)` before the loop, or convert with `.to({mismatch.left})` in it"
    return CarriedTypeError(
        f"`{name}{mismatch.path}` changes its type inside the loop",
        span=stores[-1] if stores else getattr(name, "span", None) or span,
        found=f"{mismatch.right} after an iteration",
        expected=f"{mismatch.left}, as before the loop" + (f" ({start})" if start != mismatch.left else ""),
        instead=instead,
        related=[("the loop", span)] if span is not None and stores else [],
    )


def _conversion(mismatch: MismatchError) -> str:
    if "None" in (mismatch.left, mismatch.right):
        return "a value on both paths"
    if " " in mismatch.left + mismatch.right:
        return "the same kind of value on both paths, or decide with `const_expr` while tracing"
    return f"convert one of them, for example `.to({mismatch.right})`"


def _sides(span: Span | None) -> list[list[ast.AST]]:
    """The statement lists of the construct whose test or iterable starts at `span`."""
    if span is None:
        return [[], []]
    try:
        tree = parse_module("".join(linecache.getlines(span.file)))
    except SyntaxError:
        return [[], []]
    for node in ast.walk(tree):
        at = getattr(node, "test", None) or getattr(node, "iter", None)
        if (getattr(at, "lineno", None), getattr(at, "col_offset", None)) == (span.line, span.column):
            body = getattr(node, "body", [])
            orelse = getattr(node, "orelse", [])
            following = _following(tree, node) if isinstance(node, ast.If) and not orelse else orelse
            return [body if isinstance(body, list) else [], following if isinstance(following, list) else []]
    return [[], []]


def _following(tree: ast.AST, node: ast.AST) -> list[ast.AST]:
    """What comes after an `if` without `else`: the other path when its body leaves early."""
    for parent in ast.walk(tree):
        for field in ("body", "orelse"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and node in block:
                return list(block[block.index(node) + 1 :])
    return []


def _stores(statements: list[ast.AST], name: str, like: Span | None) -> Iterator[Span]:
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                yield _span(node, like)


def _returns(statements: list[ast.AST], like: Span | None) -> Iterator[Span]:
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Return):
                yield _span(node, like)


def _span(node: ast.expr | ast.stmt, like: Span | None) -> Span:
    assert like is not None, "a branch has a position in its file"
    return Span(like.file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, like.function)


def undefined(name: str, value: object) -> MaybeUndefinedError:
    """The error for reading a variable that some path leaves unassigned."""
    missing = value.missing if isinstance(value, Partial) else None
    path = missing[0] if missing is not None else "on the way here"
    shown = describe(bare(value)) if isinstance(value, Partial) else "nothing"
    return MaybeUndefinedError(
        f"`{name}` is not assigned on every path that reaches this use",
        span=place(),
        found=f"`{name}` has no value {path}" + (f" ({shown} otherwise)" if missing is not None else ""),
        expected="an assignment on every path",
        instead=f"`{name} = ...` before the branch or loop",
        related=[("the construct that may leave it unassigned", missing[1])] if missing and missing[1] else [],
    )
