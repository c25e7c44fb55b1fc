"""The pre-stage, top to bottom: find the source, refuse, analyse, rewrite, build a new function.

`rewrite(function) -> Rewritten`; running `rewritten.bind(PythonHooks())` means what the original means.
"""

from __future__ import annotations

import ast
from functools import partial
from types import FunctionType
from typing import Any

from triptych.hooks import RETURN_VALUE, RETURNED
from triptych.prestage import build, refuse
from triptych.prestage.flow import Flow
from triptych.prestage.frame import Frame
from triptych.prestage.function import build_function, compile_function, find_node, source_of
from triptych.prestage.mangle import mangle
from triptych.prestage.scopes import FunctionNode, parameters, stores
from triptych.prestage.statements import StatementRewriter
from triptych.stages import Rewritten


def rewrite(function: FunctionType) -> Rewritten:
    """Rewrite a Python function or lambda; the original stays as it is."""
    source = source_of(function)
    node = find_node(function)
    refuse.check(node, source.file)
    mangle(node, function.__qualname__)
    definition = _as_definition(node)
    new = _rewrite_function(definition, source.file, outer=None)
    code = compile_function(new, function)
    text = ast.unparse(ast.fix_missing_locations(new))
    return Rewritten(source, code, text, partial(_bind, code, function))


def _bind(code: Any, function: FunctionType, hooks: object) -> Any:
    return build_function(code, function, hooks)


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


def _rewrite_function(node: ast.FunctionDef, file: str, outer: Frame | None) -> ast.FunctionDef:
    _return_none_at_the_end(node)
    frame = _frame(node, file, outer)
    rewriter = StatementRewriter(frame, _nested_function, _nested_lambda)
    body, _ = rewriter.block(node.body, set(frame.flow.captured))
    if RETURNED in frame.flags:
        body.append(build.at(ast.Return(build.call_hook("result", build.name(RETURN_VALUE))), node.body[-1]))
    node.body = [*_prologue(frame, node), *body] or [build.at(ast.Pass(), node)]
    return node


def _return_none_at_the_end(node: ast.FunctionDef) -> None:
    """Make the implicit `return None` explicit where early returns exist, so that all paths meet in one value."""
    nested = [r for r in _own_returns(node.body) if r not in node.body]
    if nested and Flow(node).falls_off.reachable:
        end = ast.Return(None)
        end.lineno = end.end_lineno = node.body[-1].end_lineno or node.lineno
        end.col_offset, end.end_col_offset = 0, node.body[-1].end_col_offset
        node.body = [*node.body, end]


def _own_returns(statements: list[ast.stmt]) -> list[ast.Return]:
    found: list[ast.Return] = []
    pending: list[ast.AST] = list(statements)
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Return):
            found.append(current)
        elif not isinstance(current, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(current)
    return found


def _frame(node: FunctionNode, file: str, outer: Frame | None) -> Frame:
    flow = Flow(node)
    names = parameters(node)
    first = names[0] if names else None
    outer_partial: set[str] = set()
    if outer is not None:
        first = outer.first_parameter
        outer_partial = (outer.outer_partial | outer.partial) - flow.locals
    return Frame(file, node, flow, first, _partial(flow), outer_partial)


def _partial(flow: Flow) -> set[str]:
    """Variables that some construct may see undefined on one side while someone still reads them."""
    found: set[str] = set()
    at_loops = set().union(*(flow.live_after(loop) | flow.live_at_head(loop) for loop in flow.head))
    for node, point in flow.before.items():
        wanted = set(flow.captured)
        if isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Match):
            wanted |= at_loops | flow.live_after(node)
        wanted |= {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
        found |= point.undefined & ((stores([node]) & wanted) | point.live)
        if isinstance(node, ast.Delete):
            found |= stores([node])
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
    return _rewrite_function(node, outer.file, outer)


def _nested_lambda(node: ast.Lambda, outer: Frame) -> ast.Lambda:
    frame = _frame(node, outer.file, outer)
    rewriter = StatementRewriter(frame, _nested_function, _nested_lambda)
    node.body = rewriter.expressions.rewrite(node.body)
    return node
