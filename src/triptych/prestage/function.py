"""Functions: finding the AST a function was compiled from, and building a new function from a rewritten one.

The user's function, globals and code object stay untouched: the new code shares the original closure cells and
gets its hooks through one extra cell.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any

from triptych.prestage.build import HOOKS, function_def, name, no_arguments
from triptych.prestage.errors import NoSourceError
from triptych.prestage.scopes import FunctionNode, parameters
from triptych.stages import Source
from triptych.support.source import Span

_FUTURE_FLAGS = 0x0FFF0000
"""Bits of `co_flags` that hold `from __future__` features."""


def source_of(function: FunctionType) -> Source:
    """The text a function was written as (a lambda: its whole line)."""
    code = function.__code__
    lines = file_lines(code.co_filename, function)
    node = find_node(function)
    end = node.end_lineno or node.lineno
    return Source(function, "".join(lines[code.co_firstlineno - 1 : end]), code.co_filename, code.co_firstlineno)


def file_lines(file: str, function: FunctionType) -> list[str]:
    """The file's lines through `linecache`, so notebooks and generated modules work too."""
    lines = linecache.getlines(file, function.__globals__)
    if not lines:
        raise NoSourceError(
            f"the source of {function.__qualname__!r} is not available",
            span=Span(file, function.__code__.co_firstlineno),
            found=f"no text for {file!r}",
            expected="a function defined in a file, a notebook cell, or text registered in `linecache`",
            instead="save the function in a .py file, or use `jit(f, preprocessor=False)` to trace it unrewritten",
        )
    return lines


@lru_cache(maxsize=64)
def _parse_file(text: str) -> ast.Module:
    return ast.parse(text)


def find_node(function: FunctionType) -> FunctionNode:
    """A private copy of the `def` or `lambda` node the function's code came from."""
    code = function.__code__
    text = "".join(file_lines(code.co_filename, function))
    candidates = [node for node in ast.walk(_parse_file(text)) if _matches(node, code)]
    if code.co_name == "<lambda>":
        candidates = [node for node in candidates if _covers(node, code)]
    if len({ast.dump(node) for node in candidates}) != 1:
        raise NoSourceError(
            f"the source of {function.__qualname__!r} cannot be told apart",
            span=Span(code.co_filename, code.co_firstlineno),
            found=f"{len(candidates)} definitions at line {code.co_firstlineno} that could be it",
            expected="exactly one (has the file changed since it was imported?)",
            instead="put each lambda on a line of its own, or reload the module",
        )
    copied = _copy(candidates[0])
    assert isinstance(copied, ast.FunctionDef | ast.Lambda)
    return copied


def _matches(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        named = code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    elif isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        named = code.co_name == node.name and first == code.co_firstlineno
    else:
        return False
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return named and sorted(parameters(node)) == sorted(code.co_varnames[:count])


def _covers(node: ast.AST, code: CodeType) -> bool:
    """Whether every instruction of a lambda lies within the node's body: tells lambdas of one line apart."""
    body = node.body if isinstance(node, ast.Lambda) else node
    spans = {p for p in code.co_positions() if None not in p}
    begin = (body.lineno, body.col_offset)  # type: ignore[attr-defined]
    end = (body.end_lineno, body.end_col_offset)  # type: ignore[attr-defined]
    inside = [p for p in spans if begin <= (p[0], p[2]) and (p[1], p[3]) <= end]
    return bool(inside) and max((p[1], p[3]) for p in inside) == end and min((p[0], p[2]) for p in inside) == begin


def _copy(node: ast.AST) -> ast.AST:
    """A deep copy that shares nothing with the cached file tree (faster than `copy.deepcopy`)."""
    fields = {}
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            value = _copy(value)
        elif isinstance(value, list):
            value = [_copy(item) if isinstance(item, ast.AST) else item for item in value]
        fields[field] = value
    return ast.copy_location(type(node)(**fields), node)


def compile_function(node: ast.FunctionDef, original: FunctionType) -> CodeType:
    """Code for a rewritten definition, with the original's free variables and `_tt` as its free variables."""
    free = [*original.__code__.co_freevars, HOOKS]
    factory = function_def("_tt_factory", no_arguments(*free), [node, ast.Return(name(node.name))])
    module = ast.fix_missing_locations(ast.Module([factory], []))
    flags = original.__code__.co_flags & _FUTURE_FLAGS
    compiled = compile(module, original.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    outer = _inner_code(compiled, "_tt_factory")
    return _rename(_inner_code(outer, node.name), original.__code__)


def _inner_code(code: CodeType, called: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == called)


def _rename(code: CodeType, original: CodeType) -> CodeType:
    """Show the user's own function name in tracebacks: for the function and every region cut out of it."""
    consts = tuple(
        _rename(const, original) if isinstance(const, CodeType) and const.co_name.startswith("_tt_") else const
        for const in code.co_consts
    )
    return code.replace(co_name=original.co_name, co_qualname=original.co_qualname, co_consts=consts)


def build_function(code: CodeType, original: FunctionType, hooks: object) -> Callable[..., Any]:
    """A new function over the original's globals, defaults and closure cells, whose control flow calls `hooks`."""
    cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
    cells[HOOKS] = CellType(hooks)
    closure = tuple(cells[variable] for variable in code.co_freevars)
    function = FunctionType(code, original.__globals__, original.__name__, original.__defaults__, closure)
    function.__kwdefaults__ = original.__kwdefaults__
    function.__annotations__ = original.__annotations__
    function.__qualname__ = original.__qualname__
    function.__doc__ = original.__doc__
    function.__module__ = original.__module__
    return function
