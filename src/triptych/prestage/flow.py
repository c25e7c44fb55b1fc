"""Flow analysis of one function: which variables are live where, and which may still be undefined where.

A small control-flow graph is built over the original AST; the rewriters ask it by node. Both questions are needed
before control flow can become calls: live variables are what a construct must hand on, undefined ones are errors
at their use, not at the join.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from triptych.prestage.scopes import FunctionNode, captured, evaluated_at_definition, local_names, parameters

Loop = ast.For | ast.While


@dataclass(slots=True, eq=False)
class Point:
    """A place between statements: events (in order) follow until the next points."""

    events: list[tuple[str, str, ast.AST]] = field(default_factory=list)
    """(`use` | `define` | `delete`, variable, node)."""
    successors: list[Point] = field(default_factory=list)
    live: set[str] = field(default_factory=set)
    """Variables whose value at this point may still be read."""
    undefined: set[str] = field(default_factory=set)
    """Variables that some path reaching this point has not assigned."""
    reachable: bool = False


class Flow:
    """The analysed function: points by AST node, liveness and definedness at each."""

    def __init__(self, function: FunctionNode) -> None:
        self.locals = local_names(function)
        self.captured = captured(function)
        self.before: dict[ast.AST, Point] = {}
        self.after: dict[ast.AST, Point] = {}
        self.head: dict[ast.AST, Point] = {}
        self.sides: dict[ast.AST, tuple[Point, Point]] = {}
        self.unsure: set[ast.AST] = set()
        """Name nodes that may read an unassigned variable."""
        self._points: list[Point] = []
        self._loops: list[tuple[Point, Point]] = []
        self._exit = self._point()
        entry = self._point()
        last = self._body(entry, function)
        last.successors.append(self._exit)
        self.falls_off = last
        self._solve_liveness()
        self._solve_definedness(entry, set(parameters(function)))

    def live_after(self, node: ast.AST) -> set[str]:
        """Variables read after the statement `node` falls through."""
        return self.after[node].live | self.captured

    def live_at_head(self, loop: ast.AST) -> set[str]:
        """Variables read by another iteration or after the loop."""
        return self.head[loop].live | self.captured

    def live_in_sides(self, node: ast.If) -> set[str]:
        """Variables that one side of an `if`, or what follows it, reads as they were before the `if`."""
        then, orelse = self.sides[node]
        return then.live | orelse.live

    def falls_through(self, node: ast.AST) -> bool:
        """Whether control can reach the point after the statement."""
        return self.after[node].reachable

    def undefined_before(self, node: ast.AST) -> set[str]:
        """Variables that may be unassigned when the construct starts."""
        return self.before[node].undefined

    # building ---------------------------------------------------------------------------------------------------
    def _point(self, *predecessors: Point) -> Point:
        point = Point()
        self._points.append(point)
        for predecessor in predecessors:
            predecessor.successors.append(point)
        return point

    def _body(self, entry: Point, function: FunctionNode) -> Point:
        if isinstance(function, ast.Lambda):
            return self._expression(entry, function.body)
        return self._statements(entry, function.body)

    def _statements(self, point: Point, statements: Sequence[ast.stmt]) -> Point:
        for statement in statements:
            point = self._point(point)
            self.before[statement] = point
            point = self._point(self._statement(point, statement))
            self.after[statement] = point
        return point

    def _statement(self, point: Point, node: ast.stmt) -> Point:
        match node:
            case ast.If():
                point = self._expression(point, node.test)
                starts = self._point(point), self._point(point)
                self.sides[node] = starts
                return self._point(self._statements(starts[0], node.body), self._statements(starts[1], node.orelse))
            case ast.For() | ast.While():
                return self._loop(point, node)
            case ast.Break():
                point.successors.append(self._loops[-1][1])
                return self._point()
            case ast.Continue():
                point.successors.append(self._loops[-1][0])
                return self._point()
            case ast.Return():
                if node.value is not None:
                    point = self._expression(point, node.value)
                point.successors.append(self._exit)
                return self._point()
            case ast.Raise():
                self._each(point, ast.iter_child_nodes(node))
                return self._point()
            case ast.With():
                for item in node.items:
                    point = self._expression(point, item.context_expr)
                    if item.optional_vars is not None:
                        point = self._expression(point, item.optional_vars)
                return self._statements(point, node.body)
            case ast.Match():
                return self._match(point, node)
            case ast.FunctionDef() | ast.ClassDef():
                point = self._each(point, evaluated_at_definition(node))
                point.events.append(("define", node.name, node))
                return point
            case ast.AugAssign(target=ast.Name(id=name)):
                point.events.append(("use", name, node.target))
                point = self._expression(point, node.value)
                point.events.append(("define", name, node.target))
                return point
            case ast.AugAssign():
                return self._each(point, (node.target, node.value))
            case ast.Assign():
                return self._each(point, (node.value, *node.targets))
            case ast.AnnAssign():
                parts = (node.value, node.target) if node.value is not None else ()
                return self._each(point, parts)
            case _:
                return self._each(point, ast.iter_child_nodes(node))

    def _loop(self, point: Point, node: Loop) -> Point:
        if isinstance(node, ast.For):
            point = self._expression(point, node.iter)
        head = self._point(point)
        self.head[node] = head
        exit_ = self._point()
        test = self._expression(head, node.test) if isinstance(node, ast.While) else head
        body = self._point(test)
        if isinstance(node, ast.For):
            body = self._expression(body, node.target)
        self._loops.append((head, exit_))
        self._statements(body, node.body).successors.append(head)
        self._loops.pop()
        forever = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value
        ended = self._point() if forever else self._point(test)
        self._statements(ended, node.orelse).successors.append(exit_)
        return exit_

    def _match(self, point: Point, node: ast.Match) -> Point:
        point = self._expression(point, node.subject)
        end = self._point()
        for case in node.cases:
            taken = self._each(self._point(point), [case.pattern, *([case.guard] if case.guard else [])])
            self._statements(taken, case.body).successors.append(end)
        point.successors.append(end)
        return end

    def _each(self, point: Point, nodes: Iterable[ast.AST]) -> Point:
        for node in nodes:
            point = self._expression(point, node)
        return point

    def _expression(self, point: Point, node: ast.AST) -> Point:
        match node:
            case ast.Name(id=name):
                kind = {ast.Load: "use", ast.Store: "define", ast.Del: "delete"}[type(node.ctx)]
                point.events.append((kind, name, node))
                return point
            case ast.NamedExpr():
                return self._expression(self._expression(point, node.value), node.target)
            case ast.IfExp():
                point = self._expression(point, node.test)
                then = self._expression(self._point(point), node.body)
                orelse = self._expression(self._point(point), node.orelse)
                return self._point(then, orelse)
            case ast.BoolOp():
                return self._lazy(point, node.values)
            case ast.Compare() if len(node.ops) > 1:
                return self._lazy(self._expression(point, node.left), node.comparators)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                point = self._each(point, ast.iter_child_nodes(node))
                point.events.append(("define", name, node))
                return point
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._comprehension(point, node)
            case ast.Lambda():
                return self._each(point, evaluated_at_definition(node))
            case ast.alias():
                point.events.append(("define", (node.asname or node.name).partition(".")[0], node))
                return point
            case _:
                return self._each(point, ast.iter_child_nodes(node))

    def _lazy(self, point: Point, operands: Sequence[ast.expr]) -> Point:
        """The first operand always runs; after each further one the expression may end."""
        end = self._point()
        for index, operand in enumerate(operands):
            point = self._expression(point if index == 0 else self._point(point), operand)
            point.successors.append(end)
        return end

    def _comprehension(self, point: Point, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Point:
        """Its targets are its own; reads of the function's variables happen here, walruses may bind them."""
        own = {n.id for generator in node.generators for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id not in own:
                point.events.append(("use", inner.id, inner))
        skipped = self._point(point)
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                point.events.append(("define", inner.target.id, inner.target))
        return self._point(point, skipped)

    # solving ----------------------------------------------------------------------------------------------------
    def _solve_liveness(self) -> None:
        def step(point: Point) -> bool:
            live: set[str] = set().union(*(s.live for s in point.successors))
            for kind, name, _ in reversed(point.events):
                if kind == "use":
                    live.add(name)
                else:
                    live.discard(name)
            changed = live != point.live
            point.live = live
            return changed

        self._until_stable(list(reversed(self._points)), step)
        for point in self._points:
            point.live &= self.locals

    def _solve_definedness(self, entry: Point, defined: set[str]) -> None:
        entry.undefined = self.locals - defined
        entry.reachable = True

        def step(point: Point) -> bool:
            if not point.reachable:
                return False
            undefined = self._undefined_at_end(point)
            changed = False
            for successor in point.successors:
                if not successor.reachable or not undefined <= successor.undefined:
                    successor.reachable = True
                    successor.undefined |= undefined
                    changed = True
            return changed

        self._until_stable(self._points, step)
        for point in self._points:
            if point.reachable:
                self._undefined_at_end(point, self.unsure)

    def _undefined_at_end(self, point: Point, unsure: set[ast.AST] | None = None) -> set[str]:
        undefined = set(point.undefined)
        for kind, name, node in point.events:
            if kind == "define":
                undefined.discard(name)
            elif kind == "delete":
                undefined.add(name)
            elif unsure is not None and name in undefined:
                unsure.add(node)
        return undefined

    @staticmethod
    def _until_stable(points: list[Point], step: Callable[[Point], bool]) -> None:
        changed = True
        while changed:
            changed = False
            for point in points:
                changed |= step(point)
