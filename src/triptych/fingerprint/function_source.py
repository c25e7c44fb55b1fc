"""Source fingerprint of a function: what it says (source and code), and separately where it says it.

Comments, blank lines and docstrings cannot reach the compiled code; line numbers reach it through error messages and
line tables, so positions are an ingredient of their own.
"""

from __future__ import annotations

import ast
import inspect
import sys
import tokenize
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from triptych.fingerprint.primitive_tokens import Token
from triptych.support.source_texts import lines_of, parse_module

# Object-stage, syntax tree -> text: what `ast.dump` gives, without docstrings, for trees of any depth.


class _Mark(str):
    """Punctuation, which is written as it is."""


def tree_text(tree: ast.AST) -> str:
    """A text that tells any two trees apart that differ in more than places and docstrings."""
    written: list[str] = []
    pending: list[Any] = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.AST):
            fields = [(_Mark(f"{name}="), _field(item, name)) for name in item._fields]
            parts = [part for pair in fields for part in pair]
            pending += reversed([_Mark(f"{type(item).__name__}("), *parts, _Mark(")")])
        elif isinstance(item, list):
            pending += reversed([_Mark("["), *item, _Mark("]")])
        else:
            written.append(item if type(item) is _Mark else f"{item!r},")
    return "".join(written)


def _field(node: ast.AST, name: str) -> Any:
    value: Any = getattr(node, name, None)
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    documented = name == "body" and is_function and ast.get_docstring(node, clean=False) is not None  # type: ignore[arg-type]
    return value[1:] if documented else value


CO_HAS_DOCSTRING = 0x4000000
_REMEMBERED = 256
"""Functions whose tree is not made again."""


def source_token(function: FunctionType, value: Callable[[object, str], Token]) -> Token:
    """The syntax tree and the code.

    The tree has what the compiler drops (annotations of local variables); the code tells apart two lambdas on one line
    and a function whose file was edited after it was loaded.
    """
    name = function.__code__.co_name
    return (_tree_text(text_of(function), name), code_token(function.__code__, value))


def text_of(function: FunctionType) -> str:
    """The function's `def` as it is written; nothing for lambdas and when there is no source."""
    code = function.__code__
    if code.co_name.startswith("<"):
        return ""
    lines = lines_of(code, function.__globals__) or []
    first, name = code.co_firstlineno, code.co_name
    last = _last_lines("".join(lines)).get((first, name))
    if last is not None:
        return "".join(lines[first - 1 : last])
    try:
        return "".join(inspect.getblock(lines[first - 1 :]))
    except (SyntaxError, tokenize.TokenError):
        return ""


@lru_cache(maxsize=64)
def _last_lines(source: str) -> Mapping[tuple[int, str], int]:
    """Where the functions of a file end, by their first lines (a decorator's) and names.

    One syntax tree of the file takes less time than the tokens of its longest function.
    """
    try:
        tree = parse_module(source)
    except SyntaxError:  # edited since it was loaded, or no Python by itself
        return {}
    ends: dict[tuple[int, str], int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            ends[min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.name] = node.end_lineno
    return ends


@lru_cache(maxsize=_REMEMBERED)
def _tree_text(text: str, name: str) -> str:
    """A key and its guards ask for the same functions, and a module that is loaded again has them again."""
    tree = definition(text, name)
    return "" if tree is None else tree_text(tree)


def definition(text: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """A fresh syntax tree of a `def`."""
    # Dedenting would also shift the lines of multi-line strings, so an indented block gets a parent instead.
    whole = "if True:\n" + text if text[:1].isspace() else text
    try:
        tree = parse_module(whole)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return node
    return None


def code_token(code: CodeType, value: Callable[[object, str], Token]) -> Token:
    """A code object without its positions."""
    constants = code.co_consts[1:] if _has_docstring(code) else code.co_consts
    return (
        "code",
        code.co_name,
        code.co_flags & ~CO_HAS_DOCSTRING,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars),
        (code.co_code, code.co_exceptiontable),
        tuple(code_token(item, value) if isinstance(item, CodeType) else value(item, "constant") for item in constants),
    )


def _has_docstring(code: CodeType) -> bool:
    """Python 3.14 began to flag it; before, the first constant of every `def` was its docstring or None."""
    if sys.version_info >= (3, 14):
        return bool(code.co_flags & CO_HAS_DOCSTRING)
    is_def = bool(code.co_flags & inspect.CO_NEWLOCALS) and not code.co_name.startswith("<")
    return is_def and bool(code.co_consts) and isinstance(code.co_consts[0], str)


def position_token(code: CodeType) -> Token:
    """File, lines and columns, also of nested functions."""
    nested = tuple(position_token(item) for item in code.co_consts if isinstance(item, CodeType))
    return (code.co_filename, code.co_firstlineno, code.co_linetable, nested)
