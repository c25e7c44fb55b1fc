"""Rewriter, the pre-stage top to bottom: find the source, refuse, analyse, rewrite, build a new function.

`rewrite(function) -> Rewritten`; running `rewritten.bind(PythonHooks())` means what the original means.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType
from weakref import WeakKeyDictionary

from triptych.hooks import REPLACED_VISITORS, RETURN_VALUE, RETURNED
from triptych.prestage import build, refuse
from triptych.prestage.build import children
from triptych.prestage.flow import Flow
from triptych.prestage.frame import Frame
from triptych.prestage.function import build_function, compile_function, find_node, source_of
from triptych.prestage.preprocessing import preprocessed
from triptych.prestage.scopes import FunctionNode, mangle, parameters, stores
from triptych.prestage.splitting import LeavableBlock, flatten_chains
from triptych.prestage.statements import StatementRewriter
from triptych.stages import Rewritten, Source
from triptych.support.dataclass import dataclass
from triptych.support.source import Span


def rewrite(function: FunctionType, stops: bool = False) -> Rewritten:
    """Rewrite a Python function or lambda; the original stays as it is.

    With `stops`, every statement says that it is about to run."""
    source = source_of(function)
    versions = _KNOWN.setdefault(function.__code__, {})
    wanted = (stops, *REPLACED_VISITORS.values())
    known = versions.get(wanted)
    if known is None or known.text != source.text or known.code.co_filename != source.file:
        known = versions[wanted] = _rewrite_code(function, source, stops)
    bind = partial(build_function, known.code, function)
    return Rewritten(source, known.code, partial(_text, known.tree), bind, known.assigns)


@dataclass(frozen=True, slots=True)
class _Known:
    """What became of a code object: functions that share it, and compiling for other types, need it again."""

    text: str
    code: CodeType
    tree: ast.FunctionDef
    assigns: tuple[tuple[str, Span], ...]


_KNOWN: WeakKeyDictionary[CodeType, dict[tuple[object, ...], _Known]] = WeakKeyDictionary()


def _rewrite_code(function: FunctionType, source: Source, stops: bool) -> _Known:
    try:
        node = preprocessed(find_node(function))
        refuse.check(node, source.file)
        mangle(node, function.__code__.co_qualname)
        definition = _as_definition(node)
        assigns = tuple(_assigned_always(definition, source.file))
        new = _rewrite_function(definition, source.file, None, stops)
        return _Known(source.text, compile_function(new, function), new, assigns)
    except RecursionError:
        raise refuse.too_deep(find_node(function), source.file) from None


def _assigned_always(definition: ast.FunctionDef, file: str) -> Iterator[tuple[str, Span]]:
    """The attributes of the first parameter that no branch and no early exit keeps the function from assigning."""
    first = next(iter(parameters(definition)), None)
    if first in stores(definition.body):
        return
    for statement in definition.body:
        if _own_returns([statement]):
            return
        for target in _targets(statement):
            match target:
                case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner == first:
                    end = (target.end_lineno, target.end_col_offset)
                    yield name, Span(file, target.lineno, target.col_offset, *end)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    match statement:
        case ast.Assign(targets=targets):
            return targets
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target, value=ast.expr()):
            return [target]
    return []


def _text(definition: ast.FunctionDef) -> str:
    return ast.unparse(definition).replace(f"lambda *{build.THUNK}:", "lambda:")


def _as_definition(node: FunctionNode) -> ast.FunctionDef:
    """The bare function: a lambda gets a body of one `return`; defaults and annotations come from the original."""
    body: list[ast.stmt] = [build.at(ast.Return(node.body), node.body)] if isinstance(node, ast.Lambda) else node.body
    arguments = node.args
    arguments.defaults = [build.at(build.constant(None), node) for _ in arguments.defaults]
    arguments.kw_defaults = [d and build.at(build.constant(None), node) for d in arguments.kw_defaults]
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    name = "_tt_lambda" if isinstance(node, ast.Lambda) else node.name
    return build.at(build.function_def(name, arguments, body), node)


def _rewrite_function(node: ast.FunctionDef, file: str, outer: Frame | None, stops: bool) -> ast.FunctionDef:
    _return_none_at_the_end(node)
    node.body = flatten_chains(node.body)
    frame = _frame(node, file, outer)
    frame.stops = stops
    rewriter = StatementRewriter(frame, _nested_function, _nested_lambda)
    body, _ = rewriter.block(node.body, set(frame.flow.captured))
    if RETURNED in frame.flags:
        body.append(build.at(ast.Return(build.call_hook("result", build.name(RETURN_VALUE))), node))
    docstring = body[: ast.get_docstring(node, clean=False) is not None]
    node.body = [*docstring, *_prologue(frame, node), *body[len(docstring) :]] or [build.at(ast.Pass(), node)]
    return node


def _return_none_at_the_end(node: ast.FunctionDef) -> None:
    """Make the implicit `return None` explicit where early returns exist, so that all paths meet in one value."""
    if not set(_own_returns(node.body)) <= set(node.body):
        node.body = [*node.body, build.at(ast.Return(None), node.body[-1])]


def _own_returns(statements: list[ast.stmt]) -> list[ast.Return]:
    found: list[ast.Return] = []
    pending: list[ast.AST] = list(statements)
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Return):
            found.append(current)
        elif not isinstance(current, ast.expr | ast.FunctionDef | ast.ClassDef):
            pending += children(current)
    return found


def _frame(node: FunctionNode, file: str, outer: Frame | None) -> Frame:
    flow = Flow(node)
    names = parameters(node)
    first = names[0] if names else None
    outer_partial: set[str] = set()
    outer_unsure: set[ast.AST] = set()
    if outer is not None:
        first = outer.first_parameter
        outer_partial = (outer.outer_partial | outer.partial) - flow.locals
        outer_unsure = outer.outer_unsure | outer.flow.unsure
    return Frame(file, node, flow, first, _partial(flow), outer_partial, outer_unsure)


def _partial(flow: Flow) -> set[str]:
    """Variables that some construct may see undefined on one side while someone still reads them."""
    found: set[str] = set()
    at_loops = set().union(*(flow.live_around(loop) for loop in flow.head))
    for node, point in flow.before.items():
        found |= point.undefined & point.live
        wanted = set(flow.captured)
        if isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Match | LeavableBlock):
            wanted |= at_loops | flow.live_after(node)
        if isinstance(node, ast.If):
            wanted |= flow.live_in_sides(node)
        for kind, name, origin in flow.events_in(node):
            if kind == "delete" or (
                kind == "define" and name in point.undefined and (name in wanted or isinstance(origin, ast.NamedExpr))
            ):
                found.add(name)
    return found


def _prologue(frame: Frame, node: ast.AST) -> list[ast.stmt]:
    """Bind what regions assign, so that `nonlocal` finds it: variables undefined, flags down."""
    given = set(parameters(frame.function))
    names = sorted((frame.managed | frame.partial) - given - (frame.flags.keys() - {RETURN_VALUE}))
    start: list[ast.stmt] = [build.assign(name, build.hook("UNDEFINED")) for name in names]
    flags = sorted(frame.flags.keys() - {RETURN_VALUE})
    start += [build.assign(flag, build.constant(False)) for flag in flags]
    return [build.at(statement, node) for statement in start]


def _nested_function(node: ast.FunctionDef, outer: Frame) -> ast.FunctionDef:
    """A function defined inside: rewritten in place, unless a decorator is going to look at it as it is."""
    if node.decorator_list:
        return node
    rewritten = _rewrite_function(node, outer.file, outer, outer.stops)
    rewritten.decorator_list = [build.at(build.hook("fresh"), node)]
    return rewritten


def _nested_lambda(node: ast.Lambda, outer: Frame) -> ast.Lambda:
    frame = _frame(node, outer.file, outer)
    rewriter = StatementRewriter(frame, _nested_function, _nested_lambda)
    node.body = rewriter.expressions.rewrite(node.body)
    return node
