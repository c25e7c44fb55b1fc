"""Statements: branches, loops and early exits become regions (closures) and hook calls.

An early exit sets a flag and what follows it is guarded by the flag; flags stay plain Python booleans wherever the
control flow is static, so static programs pay nothing. Where one side of an `if` never falls through, what follows
moves to the other side and needs no flag test.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Sequence

from triptych.hooks import RETURN_VALUE
from triptych.prestage import build, splitting
from triptych.prestage.build import children
from triptych.prestage.expressions import ExpressionRewriter, state_arguments
from triptych.prestage.frame import Frame
from triptych.prestage.scopes import SCOPES, FunctionNode, stores
from triptych.prestage.splitting import LeavableBlock, Leave
from triptych.prestage.targets import TargetRewriter

# Pre-stage, builds for a debugger: which statements say that they are about to run.

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


Exits = set[str]
NestedFunction = Callable[[ast.FunctionDef, Frame], ast.FunctionDef]
NestedLambda = Callable[[ast.Lambda, Frame], ast.Lambda]


class StatementRewriter:
    """Rewrites the statements of one function. Each method returns new statements and the exits they may take."""

    def __init__(self, frame: Frame, nested_function: NestedFunction, nested_lambda: NestedLambda) -> None:
        self.frame = frame
        self.flow = frame.flow
        self.expressions = ExpressionRewriter(frame, nested_function, nested_lambda)
        self.targets = TargetRewriter(frame, self.expressions)
        self._nested_function = nested_function
        self._exiting = _exiting(frame.function)
        self._constructs = frame.flow.sides.keys() | frame.flow.head.keys()

    def block(self, statements: Sequence[ast.stmt], live_end: set[str]) -> tuple[list[ast.stmt], Exits]:
        """A statement list; `live_end` are the variables read after it falls through."""
        middle = _middle(statements, self._exiting, splitting.MOST_NESTED)
        if middle:
            return self._halves(statements[:middle], statements[middle:], live_end)
        middle = _middle(statements, self._constructs, splitting.MOST_IN_A_SCOPE)
        if middle:
            return self._parts(statements[:middle], statements[middle:], live_end)
        done: list[ast.stmt] = []
        exits: Exits = set()
        for index, statement in enumerate(statements):
            if not self.flow.before[statement].reachable:
                break
            rest = statements[index + 1 :]
            self.expressions.wanted = self.flow.wanted_in(statement)
            if self.frame.stops and is_stop(statement):
                done.append(build.at(ast.Expr(build.call_hook("stop")), statement))
            if isinstance(statement, ast.If):
                new, taken, rest = self._if(statement, rest, live_end)
            else:
                new, taken = self._statement(statement)
            done += [*self._with_hoisted(new), *self._forget(self.expressions.unread, set(), statement)]
            self.expressions.unread = set()
            exits |= taken
            if taken and rest and self.flow.falls_through(statement):
                guarded, later = self._guard(taken, rest, live_end, statement)
                return done + guarded, exits | later
            if not rest:
                break
        return done, exits

    def _halves(
        self, first: Sequence[ast.stmt], second: Sequence[ast.stmt], live_end: set[str]
    ) -> tuple[list[ast.stmt], Exits]:
        """A block of many exits: one half, and the other under a guard. So depth grows by halves, not by exits."""
        done, taken = self.block(first, self.flow.live_after(first[-1]))
        return self._followed(done, taken, first[-1], second, live_end)

    def _parts(
        self, first: Sequence[ast.stmt], second: Sequence[ast.stmt], live_end: set[str]
    ) -> tuple[list[ast.stmt], Exits]:
        """A block of many constructs: one half in a scope of its own, so that no scope has too many regions."""
        live = self.flow.live_after(first[-1])
        region, taken = self._region("part", self.frame.fresh_number(), first, live, first[0])
        run = build.at(ast.Expr(ast.Call(build.name(region.name), [], [])), first[-1])
        return self._followed([region, run], taken, first[-1], second, live_end)

    def _followed(
        self, done: list[ast.stmt], taken: Exits, last: ast.stmt, rest: Sequence[ast.stmt], live_end: set[str]
    ) -> tuple[list[ast.stmt], Exits]:
        new, later = self._guard(taken, rest, live_end, last) if taken else self.block(rest, live_end)
        return done + new, taken | later

    def _leavable(self, node: LeavableBlock) -> tuple[list[ast.stmt], Exits]:
        flag = self.frame.leave_flag(node)
        self.frame.blocks.append(node)
        body, exits = self.block(node.body, self.flow.live_after(node))
        self.frame.blocks.pop()
        return [build.at(build.assign(flag, build.constant(False)), node), *body], exits - {flag}

    def _with_hoisted(self, new: list[ast.stmt]) -> list[ast.stmt]:
        hoisted, self.expressions.hoisted = self.expressions.hoisted, []
        return [*hoisted, *new]

    # branches ---------------------------------------------------------------------------------------------------
    def _if(
        self, node: ast.If, rest: Sequence[ast.stmt], live_end: set[str]
    ) -> tuple[list[ast.stmt], Exits, Sequence[ast.stmt]]:
        """An `if`; returns what of `rest` is still to be rewritten (nothing when it moved into a branch)."""
        body, orelse = list(node.body), list(node.orelse)
        live = self.flow.live_after(node)
        if rest and self._ends(orelse):
            body, rest, live = body + list(rest), (), live_end
        elif rest and self._ends(body):
            orelse, rest, live = orelse + list(rest), (), live_end
        elif not rest:
            live = live_end
        test = self.expressions.rewrite(node.test)
        hoisted, self.expressions.hoisted = self.expressions.hoisted, []
        number, known = self.frame.fresh_number(), len(self.frame.attributes)
        then, then_exits = self._region("then", number, body, live, node)
        other, other_exits = self._region("else", number, orelse, live, node)
        exits = then_exits | other_exits
        # What one side assigns and the other reads or assigns must be put back in between, even if nobody reads it
        # afterwards: the second side must not start with values of the first.
        assigned = self.frame.assigned([then, other])
        both = self.frame.assigned([then]) & self.frame.assigned([other])
        names = self._names(assigned, live | self.flow.live_in_sides(node) | both, exits)
        self._bury(then, names, self._live_end(body, live, then_exits))
        self._bury(other, names, self._live_end(orelse, live, other_exits))
        call = build.call_hook("if_", test, build.name(then.name), build.name(other.name))
        places = self._places(known, assigned, node)
        return [*hoisted, then, other, *self._construct(call, assigned, names, number, node.test, places)], exits, rest

    def _ends(self, statements: Sequence[ast.stmt]) -> bool:
        """Whether a branch never reaches its own end."""
        return bool(statements) and not self.flow.falls_through(statements[-1])

    def _guard(
        self, flags: Exits, rest: Sequence[ast.stmt], live_end: set[str], exited: ast.stmt
    ) -> tuple[list[ast.stmt], Exits]:
        """`rest` under a guard, which is placed at the statement that may have `exited`: the line that has run."""
        number, known = self.frame.fresh_number(), len(self.frame.attributes)
        region, exits = self._region("rest", number, rest, live_end, exited)
        names = self._names(self.frame.regions[region.name] | flags, live_end, exits | flags)
        self._bury(region, names, self._live_end(rest, live_end, exits))
        dead = sorted(set(names) - self.frame.live_at(flags) - self.flow.captured - self.frame.flags.keys())
        flag_names, dead_names = build.name_tuple(sorted(flags)), build.name_tuple(dead)
        call = build.call_hook("guard", flag_names, dead_names, build.name(region.name))
        assigned = self.frame.regions[region.name]
        places = self._places(known, assigned, rest[0])
        return [region, *self._construct(call, assigned, names, number, exited, places)], exits

    def _region(
        self, role: str, number: int, statements: Sequence[ast.stmt], live_end: set[str], like: ast.AST
    ) -> tuple[ast.FunctionDef, Exits]:
        self.frame.depth += 1
        body, exits = self.block(statements, live_end)
        self.frame.depth -= 1
        return self.frame.region(role, number, [], [*body, *self._left(statements, body, exits)], like), exits

    def _left(self, statements: Sequence[ast.stmt], body: Sequence[ast.stmt], exits: Exits) -> list[ast.stmt]:
        """Where no path reaches the end, some exit was taken: say so, since flags may be known only at run time."""
        if not exits or not self._ends(statements):
            return []
        match body[-1]:
            case ast.Assign(targets=[ast.Name(id=flag)], value=ast.Constant(value=True)) if flag in exits:
                return []
            case _:
                pass
        flags = sorted(exits)
        raised: ast.expr = build.constant(True)
        if len(flags) > 1:
            raised = build.call_hook("left", build.tuple_of(build.name(flag) for flag in flags))
            target: ast.expr = ast.Tuple([build.target(flag) for flag in flags], ast.Store())
        else:
            target = build.target(flags[0])
        return [build.at(ast.Assign([target], raised), statements[0])]

    def _live_end(self, statements: Sequence[ast.stmt], live_end: set[str], exits: Exits) -> set[str]:
        """Variables that someone still reads when a region has run: at its end, or where its exits lead."""
        falls = not self._ends(statements)
        return (live_end if falls else set()) | self.frame.live_at(exits) | self.flow.captured

    def _bury(self, region: ast.FunctionDef, names: list[str], live: set[str]) -> None:
        """Mark what nobody reads on the region's path any more, so that no stale value meets a live one."""
        dead = set(names) - live - self.frame.flags.keys()
        self.frame.assign_at_end(region, sorted(dead), build.hook("DEAD"))

    def _names(self, assigned: set[str], live: set[str], exits: Exits) -> list[str]:
        """The variables a construct hands on: what it assigns and someone still reads, and the exits around it."""
        wanted = live | self.frame.live_at(exits) | self.flow.captured | exits | self.frame.open_flags()
        return sorted(assigned & wanted)

    def _places(self, known: int, assigned: set[str], node: ast.stmt) -> list[tuple[str, str]]:
        """The attributes that a construct at `node` assigns, of objects whose variables it leaves as they are."""
        owners = self.flow.locals - assigned - self.flow.before[node].undefined
        return sorted({place for place in self.frame.attributes[known:] if place[0] in owners})

    def _calls(self, methods: list[tuple[str, str]], assigned: set[str], node: ast.stmt) -> list[ast.keyword]:
        """The methods that every iteration calls, of objects whose variables the loop leaves as they are."""
        owners = self.flow.locals - assigned - self.flow.before[node].undefined
        pairs = [build.tuple_of([build.name(of), build.constant(name)]) for of, name in methods if of in owners]
        return [ast.keyword("calls", build.tuple_of(pairs))] if pairs else []

    def _construct(
        self,
        call: ast.Call,
        assigned: set[str],
        names: list[str],
        number: int,
        like: ast.AST,
        attributes: Sequence[tuple[str, str]],
    ) -> list[ast.stmt]:
        """The hook call with the variables it hands on; what it assigned and nobody reads is forgotten after it."""
        before: list[ast.stmt] = []
        if names or attributes:
            places = [f"_tt_place_{number}_{index}" for index in range(len(attributes))]
            before += [build.at(_place(*pair), like) for pair in zip(places, attributes, strict=True)]
            before.append(self.frame.setter(number, names, like, places))
            call.args += state_arguments(names, number, places)
        return [*before, build.at(ast.Expr(call), like), *self._forget(assigned, set(names), like)]

    def _forget(self, assigned: set[str], names: set[str], like: ast.AST) -> list[ast.stmt]:
        """Variables that a later construct assigns again must not enter it with a value of a region that has ended."""
        stale = sorted((assigned & self.flow.reassigned) - names)
        if not stale:
            return []
        self.frame.managed |= set(stale)
        return [build.at(ast.Assign([build.target(name) for name in stale], build.hook("DEAD")), like)]

    # loops ------------------------------------------------------------------------------------------------------
    def _for(self, node: ast.For) -> tuple[list[ast.stmt], Exits]:
        methods = _methods(node.body)
        iterable = self.expressions.rewrite(node.iter)
        hoisted, self.expressions.hoisted = self.expressions.hoisted, []
        number, known = self.frame.fresh_number(), len(self.frame.attributes)
        item = f"_tt_item_{number}"
        store = [build.at(s, node.target) for s in self.targets.store(node.target, build.name(item))]
        body, exits = self._loop_body(node, number, [item], store)
        call = build.call_hook("for_", iterable, build.name(body.name))
        assigned = self.frame.assigned([body])
        places = self._places(known, assigned, node)
        call.keywords += [] if exits else self._calls(methods, assigned, node)
        return self._loop(node, number, [*hoisted, body], call, assigned, exits, node.iter, places)

    def _while(self, node: ast.While) -> tuple[list[ast.stmt], Exits]:
        methods = _methods(node.body)
        number, known = self.frame.fresh_number(), len(self.frame.attributes)
        before: list[ast.stmt] = []
        if isinstance(node.test, ast.Constant):
            test: ast.expr = build.constant(bool(node.test.value))
        else:
            tested = build.at(ast.Return(self.expressions.rewrite(node.test)), node.test)
            stale = self._forget(stores([node.test]), self.flow.live_at_head(node), node.test)
            region = self.frame.region("test", number, [], [*stale, *self._with_hoisted([tested])], node.test)
            before, test = [region], build.name(region.name)
        body, exits = self._loop_body(node, number, [], [])
        before.append(body)
        call = build.call_hook("while_", test, build.name(body.name))
        assigned = self.frame.assigned(before)
        places = self._places(known, assigned, node)
        call.keywords += [] if exits else self._calls(methods, assigned, node)
        return self._loop(node, number, before, call, assigned, exits, node.test, places)

    def _loop_body(
        self, node: ast.For | ast.While, number: int, params: list[str], prologue: list[ast.stmt]
    ) -> tuple[ast.FunctionDef, Exits]:
        self.frame.loops.append(node)
        self.frame.depth += 1
        statements, exits = self.block(node.body, self.flow.live_at_head(node))
        self.frame.depth -= 1
        self.frame.loops.pop()
        continued = self.frame.continue_flag(node) if self._is_used("continue", node, exits) else None
        reset = [build.assign(continued, build.constant(False))] if continued else []
        inner = self.frame.assigned_inside(statements)
        if isinstance(node, ast.While):
            inner |= stores([node.test])
        stale = self._forget(inner, self.flow.bodies[node].live | self.flow.captured, node)
        statements = [*reset, *stale, *prologue, *statements, *self._left(node.body, statements, exits)]
        region = self.frame.region("body", number, params, statements, node)
        live = self._live_end(node.body, self.flow.live_at_head(node), exits)
        self._bury(region, self._names(self.frame.regions[region.name], self.flow.live_around(node), exits), live)
        return region, exits - {continued or ""}

    def _is_used(self, kind: str, node: ast.AST, exits: Exits) -> bool:
        return f"_tt_{kind}_{self.frame.loop_numbers.get(node)}" in exits

    def _loop(
        self,
        node: ast.For | ast.While,
        number: int,
        before: list[ast.stmt],
        call: ast.Call,
        assigned: set[str],
        exits: Exits,
        like: ast.AST,
        places: list[tuple[str, str]],
    ) -> tuple[list[ast.stmt], Exits]:
        """The hook call, then `else:` under a guard on the loop's own exits."""
        call.args.append(build.name_tuple(sorted(exits)))
        own = assigned - {f"_tt_continue_{self.frame.loop_numbers.get(node)}"}
        names = self._names(own, self.flow.live_around(node), exits)
        new = [*before, *self._construct(call, own, names, number, like, places)]
        outward = set(exits)
        if self._is_used("break", node, exits):
            flag = self.frame.break_flag(node)
            new.insert(0, build.at(build.assign(flag, build.constant(False)), node))
            outward.discard(flag)
        if not node.orelse or not self.flow.before[node.orelse[0]].reachable:
            return new, outward
        if not exits:
            body, taken = self.block(node.orelse, self.flow.live_after(node))
            return new + body, outward | taken
        guarded, taken = self._guard(exits, node.orelse, self.flow.live_after(node), node)
        return new + guarded, outward | taken

    # everything else --------------------------------------------------------------------------------------------
    def _statement(self, node: ast.stmt) -> tuple[list[ast.stmt], Exits]:
        match node:
            case ast.For():
                return self._for(node)
            case ast.While():
                return self._while(node)
            case ast.Break():
                return self._take(self.frame.break_flag(self.frame.loops[-1]), node)
            case ast.Continue():
                return self._take(self.frame.continue_flag(self.frame.loops[-1]), node)
            case Leave():
                return self._take(self.frame.leave_flag(node.block), node)
            case LeavableBlock():
                return self._leavable(node)
            case ast.Return():
                return self._return(node)
            case ast.With():
                return self._with(node)
            case ast.Match():
                return self._match(node)
            case _:
                return self._simple(node), set()

    def _take(self, flag: str, node: ast.stmt) -> tuple[list[ast.stmt], Exits]:
        return [build.at(build.assign(flag, build.constant(True)), node)], {flag}

    def _return(self, node: ast.Return) -> tuple[list[ast.stmt], Exits]:
        value = self.expressions.rewrite(node.value) if node.value is not None else build.constant(None)
        if self.frame.depth == 0:
            return [build.at(ast.Return(value), node)], set()
        flag = self.frame.return_flag()
        keep = build.at(build.assign(RETURN_VALUE, value), node)
        taken, exits = self._take(flag, node)
        return [keep, *taken], exits

    def _with(self, node: ast.With) -> tuple[list[ast.stmt], Exits]:
        """The body is a region: a context manager may decide at run time whether it runs."""
        number, known = self.frame.fresh_number(), len(self.frame.attributes)
        contexts = [f"_tt_context_{number}_{index}" for index in range(len(node.items))]
        stored: list[ast.stmt] = []
        for item, context in zip(node.items, contexts, strict=True):
            manager = build.call_hook("context", self.expressions.rewrite(item.context_expr))
            item.context_expr = build.at(ast.NamedExpr(build.target(context), manager), item.context_expr)
            if item.optional_vars is not None and not isinstance(item.optional_vars, ast.Name):
                entered = f"_tt_entered_{self.frame.fresh_number()}"
                stored += self.targets.store(item.optional_vars, build.name(entered))
                item.optional_vars = build.at(build.target(entered), item.optional_vars)
        hoisted, self.expressions.hoisted = self.expressions.hoisted, []
        live = self.flow.live_after(node)
        body, exits = self._region("with", number, node.body, live, node)
        assigned = self.frame.assigned([body])
        names = self._names(assigned, live, exits)
        self._bury(body, names, self._live_end(node.body, live, exits))
        entered_all = build.tuple_of(build.name(context) for context in contexts)
        call = build.call_hook("within", entered_all, build.name(body.name))
        places = self._places(known, assigned, node)
        construct = self._construct(call, assigned, names, number, node.items[0].context_expr, places)
        node.body = [build.at(s, node) for s in (*stored, *construct)]
        return [*hoisted, body, node], exits

    def _match(self, node: ast.Match) -> tuple[list[ast.stmt], Exits]:
        """Stays Python's own; a dynamic subject is refused by the hook."""
        subject = self.expressions.rewrite(node.subject)
        node.subject = build.at(build.call_hook("match_subject", subject), node.subject)
        exits: Exits = set()
        hoisted = self._with_hoisted([])
        for case in node.cases:
            self.expressions.wanted = self.flow.wanted_in(node)
            case.pattern = self.expressions.visit(case.pattern)
            if case.guard is not None:
                case.guard = self.expressions.rewrite(case.guard)
            hoisted += self._with_hoisted([])
            body, taken = self.block(case.body, self.flow.live_after(node))
            case.body = body or [build.at(ast.Pass(), node)]
            exits |= taken
        return [*hoisted, node], exits

    def _simple(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Delete():
                return self.targets.statement(node)
            case ast.Assert():
                test = self.expressions.rewrite(node.test)
                message = [build.thunk(self.expressions.shown(node.msg))] if node.msg is not None else []
                call = build.call_hook("assert_", test, *message)
                return [build.at(ast.Expr(call), node.test)]
            case ast.Raise():
                node.exc, node.cause = (part and self.expressions.shown(part) for part in (node.exc, node.cause))
                return [build.at(ast.Expr(build.call_hook("raising")), node), node]
            case ast.FunctionDef():
                self.expressions.rewrite_defaults(node.args)
                return [self._nested_function(node, self.frame)]
            case ast.ClassDef() | ast.Import() | ast.ImportFrom() | ast.Pass():
                return [node]
            case _:
                return [self.expressions.visit(node)]


def _middle(statements: Sequence[ast.stmt], counted: Container[ast.AST], most: int) -> int:
    """Where to cut statements of which more than `most` are among the `counted`; 0: nowhere."""
    found = [index for index, statement in enumerate(statements) if statement in counted]
    return found[len(found) // 2] if len(found) > most else 0


def _methods(body: Sequence[ast.stmt]) -> list[tuple[str, str]]:
    """The methods of variables that statements of a body call whenever it runs to its end, as (variable, method)."""
    found = []
    for statement in body:
        match statement:
            case ast.Expr(value=call) | ast.Assign(value=call):
                match call:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)):
                        found.append((owner, name))
    return list(dict.fromkeys(found))


def _exiting(function: FunctionNode) -> set[ast.AST]:
    """The statements of a function with an early exit in them."""
    found: set[ast.AST] = set()
    pending: list[tuple[ast.AST, list[ast.AST]]] = [(function, [])]
    while pending:
        node, around = pending.pop()
        if isinstance(node, ast.Return | ast.Break | ast.Continue | Leave):
            found |= {node, *around}
        elif isinstance(node, ast.stmt | ast.match_case) and (node is function or not isinstance(node, SCOPES)):
            pending += [(child, [*around, node]) for child in children(node)]
    return found


def _place(place: str, attribute: tuple[str, str]) -> ast.stmt:
    """An attribute that a construct assigns as something with a name and a value, like a variable."""
    owner, name = attribute
    return build.assign(place, build.call_hook("place", build.name(owner), build.constant(name), build.constant(owner)))
