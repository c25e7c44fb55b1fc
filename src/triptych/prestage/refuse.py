"""Syntax that has no compiled meaning: refused at its own line and column, with what to write instead."""

from __future__ import annotations

import ast

from triptych.prestage.build import HOOKS, children
from triptych.support.errors import TriptychError
from triptych.support.source import Span
from triptych.support.source_texts import TooDeepError


class UnsupportedSyntaxError(TriptychError, NotImplementedError):
    """A Python construct that has no meaning in compiled code."""

    code = "TT0101"


class NoSourceError(TriptychError, OSError):
    """The function's source text cannot be found, so it cannot be rewritten."""

    code = "TT0102"


class SourceChangedError(NoSourceError):
    """The function's file was edited after it was imported, so its text says something else than the code that runs."""

    code = "TT0103"


_SYNCHRONOUS = "a plain `def`; an `async def` outside may call the compiled function"
_STATEMENTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("`try` statement", "test the condition first (`if d != 0:`), or handle exceptions in the caller"),
    ast.TryStar: ("`try` statement", "test the condition first, or handle exceptions in the caller"),
    ast.Global: ("`global` declaration", "return the new value and assign it in the caller"),
    ast.Nonlocal: ("`nonlocal` declaration", "return the new value and assign it in the enclosing function"),
    ast.AsyncFunctionDef: ("`async def`", _SYNCHRONOUS),
    ast.AsyncFor: ("`async for`", "a plain `for`"),
    ast.AsyncWith: ("`async with`", "a plain `with`"),
    ast.Yield: ("`yield`", "a loop that uses each value where it is produced, or return a tuple"),
    ast.YieldFrom: ("`yield from`", "a loop that uses each value where it is produced, or return a tuple"),
    ast.Await: ("`await`", "a plain call"),
}
_FRAME_READERS: dict[str, str] = {
    "locals": "the names you need, as a tuple or a dataclass",
    "vars": "the names you need, as a tuple or a dataclass",
    "eval": "the expression itself",
    "exec": "the statements themselves",
}


def span_of(node: ast.AST, file: str, function: str = "") -> Span:
    """Where `node` was written."""
    return Span(
        file,
        getattr(node, "lineno", 1),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", None),
        getattr(node, "end_col_offset", None),
        function,
    )


def check(node: ast.AST, file: str) -> None:
    """Refuse what cannot be compiled anywhere in `node`, nested functions included, class bodies excluded."""
    pending = [node]
    while pending:
        current = pending.pop()
        if type(current) in _STATEMENTS:
            construct, instead = _STATEMENTS[type(current)]
            raise refusal(current, file, construct, instead)
        match current:
            case ast.Name(id=name) | ast.arg(arg=name):
                _check_reserved(name, current, file)
            case ast.ClassDef():
                pass
            case _:
                pending += reversed(children(current))  # the first refusal in the text is the one reported


def _check_reserved(name: str, node: ast.AST, file: str) -> None:
    if name.startswith(HOOKS) and (name == HOOKS or name.startswith(f"{HOOKS}_")):
        raise refusal(node, file, f"the name `{name}`", f"a name that does not start with `{HOOKS}_` (it is reserved)")


def check_call(function: ast.Name, node: ast.Call, file: str) -> None:
    """Refuse builtins that read the calling function's variables by name."""
    if function.id in _FRAME_READERS and not (function.id == "vars" and node.args):
        raise refusal(node, file, f"`{function.id}()`", _FRAME_READERS[function.id])


def check_generator(node: ast.comprehension, file: str) -> None:
    if node.is_async:
        raise refusal(node.iter, file, "asynchronous comprehension", "a plain comprehension")


def walrus_in_lazy_operand(node: ast.AST, file: str) -> UnsupportedSyntaxError:
    return refusal(
        node,
        file,
        "`:=` in a conditionally evaluated operand inside a lambda or comprehension",
        "a nested function with an `if` statement",
    )


def asynchronous(place: Span) -> UnsupportedSyntaxError:
    """An `async def` as a whole, at the line where it starts."""
    return UnsupportedSyntaxError(
        "`async def` cannot be compiled",
        span=place,
        found="`async def`",
        expected="a function that returns when it has computed its result",
        instead=_SYNCHRONOUS,
    )


def too_deep(tree: ast.AST, file: str) -> TooDeepError:
    """The error for a tree that takes more than Python's stack, at the statement that goes deepest."""
    deepest, depth, statement = 0, 0, tree
    pending: list[tuple[ast.AST, int, ast.AST]] = [(tree, 0, tree)]
    while pending:
        node, depth, around = pending.pop()
        around = node if isinstance(node, ast.stmt) else around
        if depth > deepest:
            deepest, statement = depth, around
        pending += [(child, depth + 1, around) for child in children(node)]
    return TooDeepError(
        "the program is nested too deep to be rewritten",
        span=span_of(statement, file),
        found=f"a tree of {deepest} nodes one inside the other",
        expected="what Python's stack has room for here (`sys.getrecursionlimit()`)",
        instead="several statements, each with a part of it",
    )


def refusal(node: ast.AST, file: str, construct: str, instead: str) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        f"{construct} cannot be compiled",
        span=span_of(node, file),
        found=construct,
        expected="a construct with the same meaning at run time as in Python",
        instead=instead,
    )
