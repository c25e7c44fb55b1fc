"""Functions: finding the AST a function was compiled from, and building a new function from a rewritten one.

The user's function, globals and code object stay untouched: the new code shares the original closure cells and
gets its hooks through one extra cell.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any

from triptych.prestage import refuse
from triptych.prestage.build import HOOKS, THUNK, at, children, function_def, name, no_arguments
from triptych.prestage.refuse import NoSourceError, SourceChangedError
from triptych.prestage.scopes import FunctionNode, mangled, parameters
from triptych.stages import Source
from triptych.support.source import Span
from triptych.support.source_texts import FUTURE_FLAGS, lines_of, parse_module


def source_of(function: FunctionType) -> Source:
    """The text a function was written as (a lambda: its whole line)."""
    code = function.__code__
    lines = file_lines(function)
    node = _definition(function)
    end = node.end_lineno or node.lineno
    return Source(function, "".join(lines[code.co_firstlineno - 1 : end]), code.co_filename, code.co_firstlineno)


def file_lines(function: FunctionType) -> list[str]:
    """The lines of the function's file as they were when it was imported; notebooks and generated modules work too."""
    code = function.__code__
    lines, file = lines_of(code, function.__globals__), code.co_filename
    if lines is None:
        raise SourceChangedError(
            f"the source of {function.__qualname__!r} has changed since it was imported",
            span=Span(file, code.co_firstlineno),
            found=f"{file}, edited while the program runs, and no text of it that gives the code that is running",
            expected="the text that Python imported",
            instead="reload the module, or start the program again",
        )
    if not lines and file.endswith(".py"):
        package = str(function.__globals__.get("__name__")).partition(".")[0]
        raise NoSourceError(
            f"the source of {function.__qualname__!r} was not shipped with the program",
            found=f"compiled code of {file!r}, and neither that file nor a loader that has its text",
            expected="the package with its source: kernels are compiled from it where they run",
            instead="`.py` files beside `.pyc` files; for PyInstaller "
            f"`Analysis(..., module_collection_mode={{{package!r}: 'pyz+py'}})`",
        )
    if not lines:
        raise NoSourceError(
            f"the source of {function.__qualname__!r} is not available",
            found=f"no text for {file!r}",
            expected="a function defined in a file, a notebook cell, or text registered in `linecache`",
            instead="save the function in a .py file, or use `jit(preprocessor=False)(f)` to trace it unrewritten",
        )
    return lines


def find_node(function: FunctionType) -> FunctionNode:
    """A private copy of the `def` or `lambda` node the function's code came from."""
    copied: FunctionNode = _copy(_definition(function))
    return copied


def _definition(function: FunctionType) -> FunctionNode:
    code = function.__code__
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise refuse.asynchronous(_written_at(function))
    text = "".join(file_lines(function))
    candidates = [node for node in _starting_at(code.co_firstlineno, _parse_file(text)) if _matches(node, code)]
    if len(candidates) != 1 and len({ast.dump(node) for node in candidates}) != 1:
        raise NoSourceError(
            f"the source of {function.__qualname__!r} cannot be told apart",
            span=Span(code.co_filename, code.co_firstlineno),
            found=f"{len(candidates)} definitions at line {code.co_firstlineno} that could be it",
            expected="exactly one (has the file changed since it was imported?)",
            instead="put each lambda on a line of its own, or reload the module",
        )
    return candidates[0]


def _written_at(function: FunctionType) -> Span:
    """The line of a `def` below its decorators, with which its code begins."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    below = next((at for at, line in enumerate(lines) if line.lstrip().startswith(("async def", "def "))), 0)
    column = len(lines[below]) - len(lines[below].lstrip()) if lines else 0
    line = code.co_firstlineno + below
    end = column + len("async def") if lines else None
    return Span(code.co_filename, line, column, line, end, function.__qualname__)


@lru_cache(maxsize=64)
def _parse_file(text: str) -> ast.Module:
    try:
        return parse_module(text)
    except SyntaxError:  # Python has read the file, so it changed since: no function in it can be told to be the one
        return ast.Module([], [])


def _starting_at(line: int, tree: ast.Module) -> list[FunctionNode]:
    """Every function of the file that starts at `line`: only what spans the line is looked at."""
    found: list[FunctionNode] = []
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda) and _first_line(node) == line:
            found.append(node)
        pending += [c for c in children(node) if _first_line(c) <= line <= getattr(c, "end_lineno", line)]
    return found


def _first_line(node: ast.AST) -> int:
    """The line a definition starts at, decorators included; nodes without a place count as being everywhere."""
    line: int = getattr(node, "lineno", 0)
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([line, *(decorator.lineno for decorator in decorators)])


def _matches(node: FunctionNode, code: CodeType) -> bool:
    if code.co_name != (node.name if isinstance(node, ast.FunctionDef) else "<lambda>"):
        return False
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    if sorted(mangled(parameters(node), code.co_qualname)) != sorted(code.co_varnames[:count]):
        return False
    return isinstance(node, ast.FunctionDef) or _covers(node.body, code)


def _covers(body: ast.expr, code: CodeType) -> bool:
    """Whether a lambda's instructions span exactly `body`: tells lambdas of one line apart."""
    spans = {p for p in code.co_positions() if None not in p}
    begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    inside = [p for p in spans if begin <= (p[0], p[2]) and (p[1], p[3]) <= end]
    return bool(inside) and max((p[1], p[3]) for p in inside) == end and min((p[0], p[2]) for p in inside) == begin


_SHARED = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
"""Nodes without content, which the parser itself uses many times over."""


def _copy(root: ast.AST) -> Any:
    """A deep copy, of trees of any depth, that shares nothing with the cached file tree.

    Far faster than `copy.deepcopy`."""
    pending: list[tuple[ast.AST, ast.AST]] = []

    def begun(value: object) -> Any:
        if isinstance(value, list):
            return [begun(item) for item in value]
        if not isinstance(value, ast.AST) or isinstance(value, _SHARED):
            return value
        copied = value.__class__.__new__(value.__class__)
        pending.append((value, copied))
        return copied

    whole = begun(root)
    while pending:
        original, copied = pending.pop()
        for field, part in original.__dict__.items():
            setattr(copied, field, begun(part) if isinstance(part, ast.AST | list) else part)
    return whole


def compile_function(node: ast.FunctionDef, original: FunctionType) -> CodeType:
    """Code for a rewritten definition, with the original's free variables and `_tt` as its free variables."""
    free = [*original.__code__.co_freevars, HOOKS]
    # Under a reserved name, so that the function's own name in its body still means the global, or the free variable.
    inner = function_def("_tt_function", node.args, node.body)
    factory = function_def("_tt_factory", no_arguments(*free), [inner, ast.Return(name(inner.name))])
    module = ast.Module([at(factory, node)], [])
    flags = original.__code__.co_flags & FUTURE_FLAGS
    compiled = compile(module, original.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    return _rename(_inner_code(_inner_code(compiled, factory.name), inner.name), original.__code__)


def _inner_code(code: CodeType, called: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == called)


def _rename(code: CodeType, original: CodeType) -> CodeType:
    """Show the user's own names in tracebacks: the function's for every region cut out of it, and below it."""
    consts = tuple(_rename(const, original) if isinstance(const, CodeType) else const for const in code.co_consts)
    _, _, below = code.co_qualname.partition("_tt_function")
    inside = re.sub(r"_tt_\w+\.<locals>\.", "", below)
    if not inside or code.co_name.startswith("_tt_") or THUNK in code.co_varnames:
        return code.replace(co_name=original.co_name, co_qualname=original.co_qualname, co_consts=consts)
    return code.replace(co_qualname=original.co_qualname + inside, co_consts=consts)


def build_function(code: CodeType, original: FunctionType, hooks: object) -> FunctionType:
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
