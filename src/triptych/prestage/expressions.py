"""Expressions: short circuit, ternary, chained comparison, calls and subscripts become hook calls.

Operands that Python evaluates lazily become closures, so a hook decides whether and where they run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeVar

from triptych.prestage import build, refuse
from triptych.prestage.build import child_fields, descendants
from triptych.prestage.frame import Frame
from triptych.prestage.scopes import own_names, stores
from triptych.prestage.splitting import LongExpression, as_function, is_long

COMPARISON_SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
OPERATOR_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
}
UNARY_SYMBOLS: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
SHOWING = frozenset({"str", "repr", "format", "ascii"})
"""Builtins that make text; in what is printed or raised, a run-time value shows itself as `?`."""
FRAME_SENSITIVE = frozenset({"super", "globals"})
"""Builtins that look at the frame that calls them: called directly, never through a hook."""

Comprehension = TypeVar("Comprehension", ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class ExpressionRewriter(ast.NodeTransformer):
    """Rewrites one expression in the context of its function; new statements it needs are left in `hoisted`."""

    def __init__(
        self,
        frame: Frame,
        nested_function: Callable[[ast.FunctionDef, Frame], ast.FunctionDef],
        nested_lambda: Callable[[ast.Lambda, Frame], ast.Lambda],
    ) -> None:
        self.frame = frame
        self.hoisted: list[ast.stmt] = []
        self.wanted: set[str] = set()
        """Variables that the statement being rewritten, or what follows it, reads."""
        self.unread: set[str] = set()
        """Variables that conditional walruses of the statement assign although nobody reads them."""
        self._nested_function = nested_function
        self._nested_lambda = nested_lambda
        self._own_names: list[set[str]] = []
        self._showing = False

    def rewrite(self, node: ast.expr) -> ast.expr:
        rewritten = self.visit(node)
        assert isinstance(rewritten, ast.expr), "an expression is rewritten to an expression"
        return rewritten

    def shown(self, node: ast.expr) -> ast.expr:
        """An expression whose text only a person reads: what is printed, raised or said by an assertion."""
        outer, self._showing = self._showing, True
        rewritten = self.rewrite(node)
        self._showing = outer
        return rewritten

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Rewrite what is below, leaving out contexts and operators, which are half of what there is."""
        for field in child_fields(type(node)):
            part = getattr(node, field, None)
            if isinstance(part, ast.AST):
                setattr(node, field, self.visit(part))
            elif isinstance(part, list):
                part[:] = [self.visit(item) if isinstance(item, ast.AST) else item for item in part]
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        """The grammar of patterns takes names, attributes and literals only, so they stay Python's own."""
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        for patterns in (node.patterns, node.kwd_patterns):
            patterns[:] = [self.visit(pattern) for pattern in patterns]
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        node.patterns[:] = [self.visit(pattern) for pattern in node.patterns]
        return node

    # variables --------------------------------------------------------------------------------------------------
    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or any(node.id in own for own in self._own_names):
            return node
        frame = self.frame
        if node in frame.flow.unsure or node in frame.outer_unsure:
            return build.at(build.call_hook("load", node, build.constant(node.id)), node)
        if node.id in frame.partial or (node.id in frame.outer_partial and node.id not in frame.flow.locals):
            return build.at(build.call_hook("known", node), node)
        return node

    # lazy operands ----------------------------------------------------------------------------------------------
    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if self._is_long(node):
            return self._long(node)
        kind = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._lazy(node, kind, [], node.values)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if self._is_long(node):
            return self._long(node)
        return self._lazy(node, "choose", [self.rewrite(node.test)], [node.body, node.orelse], spread=True)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if self._is_long(node):
            return self._long(node)
        symbols = [COMPARISON_SYMBOLS[type(op)] for op in node.ops]
        if len(symbols) == 1:
            self.generic_visit(node)
            call = build.call_hook("operate", build.constant(symbols[0]), node.left, node.comparators[0])
            return build.at(call, node)
        return self._lazy(node, "compare", [self.rewrite(node.left), build.name_tuple(symbols)], node.comparators)

    def _lazy(
        self, node: ast.expr, kind: str, eager: list[ast.expr], operands: Sequence[ast.expr], spread: bool = False
    ) -> ast.expr:
        """`_tt.kind(*eager, operands as closures, the variables that walruses in them assign)`."""
        assigned: set[str] = set()
        thunks = [self._thunk(operand, assigned) for operand in operands]
        args = [*eager, *thunks] if spread else [*eager, build.tuple_of(thunks)]
        self.unread |= assigned - self.wanted
        assigned &= self.wanted
        if assigned:
            number = self.frame.fresh_number()
            names = sorted(assigned)
            self.hoisted.append(self.frame.setter(number, names, node))
            args += state_arguments(names, number)
        return build.at(build.call_hook(kind, *args), node)

    def _thunk(self, operand: ast.expr, assigned: set[str]) -> ast.expr:
        if not any(isinstance(inner, ast.NamedExpr) for inner in descendants([operand])):
            return build.at(build.thunk(self.rewrite(operand)), operand)
        if self._own_names or isinstance(self.frame.function, ast.Lambda):
            raise refuse.walrus_in_lazy_operand(operand, self.frame.file)
        walruses = stores([operand]) & self.frame.flow.locals
        body = [build.at(ast.Return(self.rewrite(operand)), operand)]
        region = self.frame.region("operand", self.frame.fresh_number(), [], body, operand)
        self.frame.regions[region.name] |= walruses
        assigned |= walruses
        self.hoisted.append(region)
        return build.at(build.name(region.name), operand)

    # operators --------------------------------------------------------------------------------------------------
    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return build.at(build.call_hook("not_", node.operand), node)
        if isinstance(node.operand, ast.Constant):
            return node
        return build.at(build.call_hook("unary", build.constant(UNARY_SYMBOLS[type(node.op)]), node.operand), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Chains such as `a + b + c` nest to the left: as deep as they are long, so without recursion."""
        if self._is_long(node):
            return self._long(node)
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        result = self.rewrite(chain[-1].left)
        for operation in reversed(chain):
            operation.left, operation.right = result, self.rewrite(operation.right)
            result = self._operation(operation)
        return result

    def _operation(self, node: ast.BinOp) -> ast.expr:
        text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str | bytes)
        if (isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)) or (self._showing and text):
            return node
        symbol = build.constant(OPERATOR_SYMBOLS[type(node.op)])
        return build.at(build.call_hook("operate", symbol, node.left, node.right), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        owner = self.rewrite(node.value)
        if not isinstance(node.ctx, ast.Load):
            node.value = owner
            return node
        return build.at(build.call_hook("attribute", owner, build.constant(node.attr)), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Parts that the program makes are joined by `+`: the text of a run-time value is no string of Python's."""
        if self._showing or all(isinstance(part, ast.Constant) for part in node.values):
            self.generic_visit(node)
            return node
        return self._joined([self.rewrite(part) for part in node.values], node)

    def _joined(self, parts: list[ast.expr], node: ast.JoinedStr) -> ast.expr:
        if len(parts) == 1:
            return parts[0]
        middle = len(parts) // 2
        sides = self._joined(parts[:middle], node), self._joined(parts[middle:], node)
        return build.at(ast.BinOp(sides[0], ast.Add(), sides[1]), node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        self.generic_visit(node)
        if self._showing:
            return node
        conversion = chr(node.conversion) if node.conversion > 0 else ""
        spec = [node.format_spec] if node.format_spec is not None else []
        return build.at(build.call_hook("formatted", node.value, build.constant(conversion), *spec), node.value)

    # long rows of operands --------------------------------------------------------------------------------------
    def _is_long(self, node: LongExpression) -> bool:
        """Where no statement can be put in front, as in a comprehension, rows stay as they are."""
        cannot = self._own_names or self._showing or isinstance(self.frame.function, ast.Lambda)
        return not cannot and is_long(node)

    def _long(self, node: LongExpression) -> ast.expr:
        function = as_function(node, f"_tt_row_{self.frame.fresh_number()}")
        self.hoisted.append(self._nested_function(function, self.frame))
        return build.at(ast.Call(build.name(function.name), [], []), node)

    # calls, subscripts, containers ------------------------------------------------------------------------------
    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Name) and function.id not in self.frame.flow.locals:
            refuse.check_call(function, node, self.frame.file)
            if function.id == "super" and not node.args and self.frame.first_parameter is not None:
                implied = (build.name("__class__"), build.name(self.frame.first_parameter))
                node.args = [build.at(name, node) for name in implied]
                return node
            if function.id == "print":
                node.args = [self.shown(argument) for argument in node.args]
                node.keywords = [self.visit(keyword) for keyword in node.keywords]
                return self._hooked(node)
            if function.id == "breakpoint":
                self.generic_visit(node)
                node.func = build.at(build.call_hook("stopping", function), function)
                return node
            if function.id in FRAME_SENSITIVE or (self._showing and function.id in SHOWING):
                self.generic_visit(node)
                return node
        self.generic_visit(node)
        return self._hooked(node)

    def _hooked(self, node: ast.Call) -> ast.expr:
        return build.at(ast.Call(build.hook("call"), [node.func, *node.args], node.keywords), node)

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self.iterated(node.value)
        return node

    def iterated(self, iterable: ast.expr) -> ast.expr:
        """An expression that Python itself is about to iterate over; displays hold nothing to look after."""
        if isinstance(iterable, ast.Tuple | ast.List | ast.Constant):
            return iterable
        return build.at(build.call_hook("iterate", iterable), iterable)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return build.at(build.call_hook("getitem", self.rewrite(node.value), self.key(node.slice)), node)

    def key(self, node: ast.expr) -> ast.expr:
        """A subscript as an expression: slices written out as calls."""
        match node:
            case ast.Slice():
                parts = [self.rewrite(p) if p else build.constant(None) for p in (node.lower, node.upper, node.step)]
                return build.at(build.call_hook("slice", *parts), node)
            case ast.Tuple():
                return build.at(build.tuple_of(self.key(item) for item in node.elts), node)
            case _:
                return self.rewrite(node)

    def visit_List(self, node: ast.List) -> ast.expr:
        self.generic_visit(node)
        return self._fresh(node)

    def visit_Set(self, node: ast.Set) -> ast.expr:
        self.generic_visit(node)
        node.elts = [self._hashed(item) for item in node.elts]
        return self._fresh(node)

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        self.generic_visit(node)
        node.keys = [key and self._hashed(key) for key in node.keys]
        return self._fresh(node)

    def _hashed(self, key: ast.expr) -> ast.expr:
        if isinstance(key, ast.Constant | ast.Starred):
            return key
        return build.at(build.call_hook("hashed", key), key)

    def _fresh(self, node: ast.expr) -> ast.expr:
        return build.at(build.call_hook("fresh", node), node)

    # nested scopes ----------------------------------------------------------------------------------------------
    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.rewrite_defaults(node.args)
        return self._nested_lambda(node, self.frame)

    def rewrite_defaults(self, arguments: ast.arguments) -> None:
        """Defaults run where the nested function is defined, not where it is called."""
        arguments.defaults = [self.rewrite(d) for d in arguments.defaults]
        arguments.kw_defaults = [self.rewrite(d) if d is not None else None for d in arguments.kw_defaults]

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._fresh(self._comprehension(node))

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return self._fresh(self._comprehension(node))

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        return self._fresh(self._comprehension(node))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._fresh(self._comprehension(node))

    def _comprehension(self, node: Comprehension) -> Comprehension:
        """Stays Python's own; its targets hide the function's variables of the same name."""
        first = node.generators[0]
        first.iter = self.iterated(self.rewrite(first.iter))
        self._own_names.append(own_names(node))
        for index, generator in enumerate(node.generators):
            refuse.check_generator(generator, self.frame.file)
            if index:
                generator.iter = self.iterated(self.rewrite(generator.iter))
            generator.ifs = [self.rewrite(test) for test in generator.ifs]
        if isinstance(node, ast.DictComp):
            node.key, node.value = self._hashed(self.rewrite(node.key)), self.rewrite(node.value)
        else:
            node.elt = self.rewrite(node.elt)
            if isinstance(node, ast.SetComp):
                node.elt = self._hashed(node.elt)
        self._own_names.pop()
        return node


def state_arguments(names: Sequence[str], number: int, places: Sequence[str] = ()) -> list[ast.expr]:
    """The `names, get, set` that a hook reaches a construct's variables by; `places` are attributes that it assigns."""
    called = [*(build.constant(n) for n in names), *(build.name(p) for p in places)]
    read = [*(build.name(n) for n in names), *(ast.Attribute(build.name(p), "value", build.LOAD) for p in places)]
    return [build.tuple_of(called), build.thunk(build.tuple_of(read)), build.name(f"_tt_set_{number}")]
