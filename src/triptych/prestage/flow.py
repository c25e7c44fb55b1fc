"""Flow analysis of one function: which variables are live where, and which may still be undefined where.

A small control-flow graph is built over the original AST; the rewriters ask it by node. Both questions are needed
before control flow can become calls: live variables are what a construct must hand on, undefined ones are errors
at their use, not at the join.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from triptych.prestage.build import children, descendants, operands_of
from triptych.prestage.scopes import (
    Comprehension,
    FunctionNode,
    evaluated_at_definition,
    free_reads,
    imported_name,
    own_names,
    parameters,
    running,
    stores,
)
from triptych.prestage.splitting import LeavableBlock, Leave
from triptych.support.dataclass import dataclass

Loop = ast.For | ast.While
Event = tuple[str, str, ast.AST]
"""(`use` | `define` | `delete`, variable, node)."""


@dataclass(slots=True, eq=False)
class Point:
    """A place between statements: events (in order) follow until the next points."""

    events: list[Event] = field(default_factory=list)
    successors: list[Point] = field(default_factory=list)
    live: set[str] = field(default_factory=set)
    """Variables whose value at this point may still be read."""
    undefined: set[str] = field(default_factory=set)
    """Variables that some path reaching this point has not assigned."""
    reachable: bool = False


class Flow:
    """The analysed function: points by AST node, liveness and definedness at each."""

    def __init__(self, function: FunctionNode) -> None:
        self.locals = set(parameters(function))
        self.captured: set[str] = set()
        """Locals that nested functions, lambdas, classes or generators read: alive as long as those are."""
        self.before: dict[ast.AST, Point] = {}
        self.after: dict[ast.AST, Point] = {}
        self.head: dict[ast.AST, Point] = {}
        self.bodies: dict[ast.AST, Point] = {}
        self.ends: dict[ast.AST, Point] = {}
        self.sides: dict[ast.AST, tuple[Point, Point]] = {}
        self.unsure: set[ast.AST] = set()
        """Name nodes that may read an unassigned variable."""
        self._points: list[Point] = []
        self._captured_reads: list[ast.Name] = []
        self._ranges: dict[ast.AST, range] = {}
        self._loops: list[tuple[Point, Point]] = []
        self._block_ends: dict[LeavableBlock, Point] = {}
        self._exit = self._point()
        entry = self._point()
        self._body(entry, function).successors.append(self._exit)
        self.locals |= {name for point in self._points for kind, name, _ in point.events if kind != "use"}
        self.captured &= self.locals
        defined = Counter(name for point in self._points for kind, name, _ in point.events if kind == "define")
        in_loops = (event for loop in self.head for event in self.events_in(loop))
        self.reassigned = {name for kind, name, _ in in_loops if kind == "define"}
        self.reassigned |= {name for name, count in defined.items() if count > 1}
        """Locals that may be assigned more than once."""
        deleted = {name for point in self._points for kind, name, _ in point.events if kind == "delete"}
        self.unsure |= {read for read in self._captured_reads if read.id in deleted}
        self._solve_liveness()
        self._solve_definedness(entry, set(parameters(function)))

    def live_after(self, node: ast.AST) -> set[str]:
        """Variables read after the statement `node` falls through."""
        return self.after[node].live | self.captured

    def live_at_head(self, loop: ast.AST) -> set[str]:
        """Variables read by another iteration or after the loop."""
        return self.head[loop].live | self.captured

    def live_around(self, loop: ast.AST) -> set[str]:
        """Variables read by the body, by another iteration, by `else:` or after the loop."""
        return self.live_at_head(loop) | self.live_after(loop) | self.bodies[loop].live | self.ends[loop].live

    def live_in_sides(self, node: ast.If) -> set[str]:
        """Variables that one side of an `if`, or what follows it, reads as they were before the `if`."""
        then, orelse = self.sides[node]
        return then.live | orelse.live

    def wanted_in(self, statement: ast.AST) -> set[str]:
        """Variables read by the statement itself or after it."""
        reads = {name for kind, name, _ in self.events_in(statement) if kind == "use"}
        return reads | self.live_after(statement)

    def falls_through(self, node: ast.AST) -> bool:
        """Whether control can reach the point after the statement."""
        return self.after[node].reachable

    def events_in(self, statement: ast.AST) -> list[Event]:
        """What running the statement may do to variables."""
        return [event for number in self._ranges[statement] for event in self._points[number].events]

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
        point = self._point(point)
        for statement in statements:
            first = len(self._points) - 1
            self.before[statement] = point
            end = self._statement(point, statement)
            self._ranges[statement] = range(first, len(self._points))
            self.after[statement] = point = self._point(end)
        return point

    def _statement(self, point: Point, node: ast.stmt) -> Point:
        match node:
            case ast.If():
                starts = self._condition(point, node.test)
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
                self._each(point, children(node))
                return self._point()
            case LeavableBlock():
                end = self._block_ends[node] = self._point()
                self._statements(point, node.body).successors.append(end)
                return end
            case Leave():
                point.successors.append(self._block_ends[node.block])
                return self._point()
            case ast.With():
                for item in node.items:
                    point = self._expression(point, item.context_expr)
                    if item.optional_vars is not None:
                        point = self._expression(point, item.optional_vars)
                # A manager that opens a region says whether the body runs.
                return self._point(point, self._statements(self._point(point), node.body))
            case ast.Match():
                return self._match(point, node)
            case ast.FunctionDef() | ast.ClassDef():
                point = self._each(point, evaluated_at_definition(node))
                self._capture(point, node)
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
                if node.value is None:
                    self.locals |= stores([node.target])
                    return point
                return self._each(point, (node.value, node.target))
            case _:
                return self._each(point, children(node))

    def _loop(self, point: Point, node: Loop) -> Point:
        if isinstance(node, ast.For):
            point = self._expression(point, node.iter)
        head = self._point(point)
        self.head[node] = head
        exit_ = self._point()
        if isinstance(node, ast.While):
            body, ended = self._condition(head, node.test)
        else:
            body, ended = self._point(head), self._point(head)
        self.bodies[node], self.ends[node] = body, ended
        if isinstance(node, ast.For):
            body = self._expression(body, node.target)
        self._loops.append((head, exit_))
        self._statements(body, node.body).successors.append(head)
        self._loops.pop()
        forever = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value
        self._statements(self._point() if forever else ended, node.orelse).successors.append(exit_)
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
            case ast.Constant():
                return point
            case ast.NamedExpr():
                point = self._expression(point, node.value)
                point.events.append(("define", node.target.id, node))
                return point
            case ast.BinOp():
                return self._each(point, operands_of(node))
            case ast.IfExp():
                return self._choice(point, node)
            case ast.BoolOp():
                return self._lazy(point, node.values)
            case ast.Compare() if len(node.ops) > 1:
                return self._lazy(self._expression(point, node.left), node.comparators)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                point = self._each(point, children(node))
                point.events.append(("define", name, node))
                return point
            case ast.Call(args=[ast.GeneratorExp() as generator]):
                return self._comprehension(self._expression(point, node.func), generator)
            case ast.GeneratorExp():
                self.captured |= free_reads(node)
                return self._comprehension(point, node)
            case ast.ListComp() | ast.SetComp() | ast.DictComp():
                return self._comprehension(point, node)
            case ast.Lambda():
                point = self._each(point, evaluated_at_definition(node))
                self._capture(point, node)
                return point
            case ast.alias():
                point.events.append(("define", imported_name(node), node))
                return point
            case _:
                return self._each(point, children(node))

    def _choice(self, point: Point, node: ast.IfExp) -> Point:
        end = self._point()
        last: ast.expr = node
        while isinstance(last, ast.IfExp):
            true, point = self._condition(point, last.test)
            self._expression(true, last.body).successors.append(end)
            last = last.orelse
        self._expression(point, last).successors.append(end)
        return end

    def _condition(self, point: Point, test: ast.expr) -> tuple[Point, Point]:
        """The points reached when a test holds and when it fails: `a and b` holds only if both were evaluated."""
        match test:
            case ast.BoolOp(op=ast.And()):
                return self._every(point, test.values, flipped=False)
            case ast.BoolOp(op=ast.Or()):
                true, false = self._every(point, test.values, flipped=True)
                return false, true
            case ast.UnaryOp(op=ast.Not()):
                true, false = self._condition(point, test.operand)
                return false, true
            case ast.Compare() if len(test.ops) > 1:
                return self._every(self._expression(point, test.left), test.comparators, flipped=False)
            case _:
                point = self._expression(point, test)
                return self._point(point), self._point(point)

    def _every(self, point: Point, operands: Sequence[ast.expr], flipped: bool) -> tuple[Point, Point]:
        """Reached when every operand holds (`flipped`: fails), and when one does not."""
        stopped = self._point()
        for operand in operands:
            true, false = self._condition(point, operand)
            point, other = (false, true) if flipped else (true, false)
            other.successors.append(stopped)
        return point, stopped

    def _capture(self, point: Point, scope: ast.FunctionDef | ast.ClassDef | ast.Lambda) -> None:
        """A nested scope reads variables whenever it runs, and no earlier than here: assigned now is assigned then.

        Only `del` can change that.
        """
        names = free_reads(scope)
        self.captured |= names
        for inner in descendants([scope]):
            if isinstance(inner, ast.Name) and inner.id in names and isinstance(inner.ctx, ast.Load):
                point.events.append(("use", inner.id, inner))
                self._captured_reads.append(inner)

    def _lazy(self, point: Point, operands: Sequence[ast.expr]) -> Point:
        """The first operand always runs; after each further one the expression may end."""
        end = self._point()
        for index, operand in enumerate(operands):
            point = self._expression(point if index == 0 else self._point(point), operand)
            point.successors.append(end)
        return end

    def _comprehension(self, point: Point, node: Comprehension) -> Point:
        """Its targets are its own; reads of the function's variables happen here, walruses may bind them."""
        point = self._expression(point, node.generators[0].iter)
        own = own_names(node)
        skipped = self._point(point)
        taken = self._point(point)
        for inner in descendants(children(node), running):
            match inner:
                case ast.Name(id=name, ctx=ast.Load()) if name not in own:
                    point.events.append(("use", name, inner))
                case ast.NamedExpr():
                    taken.events.append(("define", inner.target.id, inner))
                case ast.Lambda() | ast.GeneratorExp():
                    self.captured |= free_reads(inner)
                case _:
                    pass
        return self._point(taken, skipped)

    # solving ----------------------------------------------------------------------------------------------------
    def _solve_liveness(self) -> None:
        written: dict[Point, set[str]] = {}
        for point in self._points:
            written[point] = set()
            for kind, name, _ in point.events:
                if kind != "use":
                    written[point].add(name)
                elif name not in written[point] and name in self.locals:
                    point.live.add(name)

        def step(point: Point) -> bool:
            known = len(point.live)
            for successor in point.successors:
                point.live |= successor.live - written[point]
            return len(point.live) != known

        self._until_stable(list(reversed(self._points)), step)

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
