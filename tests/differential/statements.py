"""Random statements: the body of one function, written line by line with its scope kept in step.

Loops end by construction: ranges are short, and a `while` burns a counter that nothing else assigns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.differential.choices import Choices
from tests.differential.expressions import Allowance, Expressions
from tests.differential.lines import Lines
from tests.differential.scope import LIMITS, Kind, Names, Scope, Shape, Signature

MOST_COPIES = 6
"""How many copies of a statement loops unrolled at compile time may make."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large one function becomes."""

    statements: int
    nesting: int
    expression: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement stands: how deep in blocks and loops, and whether a `break` or `continue` may follow."""

    nesting: int = 0
    loops: int = 0
    in_loop: bool = False

    def branch(self) -> Place:
        """Return the place of a statement in a branch here."""
        return Place(self.nesting + 1, self.loops, self.in_loop)

    def body(self) -> Place:
        """Return the place of a statement in a loop body here."""
        return Place(self.nesting + 1, self.loops + 1, True)


class Statements(Lines):
    """Writes the statements of one function; a writing method returns True when no path runs past what it wrote."""

    def __init__(self, choices: Choices, names: Names, allowance: Allowance, size: Size, result: Shape) -> None:
        super().__init__()
        self._choices = choices
        self._names = names
        self._allowance = allowance
        self._size = size
        self._result = result
        self._expressions = Expressions(choices, names, allowance)
        self._remaining = size.statements
        self.weight = 1
        simple = (self._assign, self._augment, self._assign_tuple, self._assign, self._augment)
        seldom = (self._swap, self._unpack, self._starred, self._chain, self._temporary, self._assert, self._nested)
        blocks = (self._if, self._for_range, self._while, self._for_static, self._if, self._for_range)
        self._simple: tuple[Callable[[Scope, Place], bool], ...] = (*simple, *seldom)
        self._any: tuple[Callable[[Scope, Place], bool], ...] = (*simple, *seldom, *blocks, *blocks)

    def body(self, scope: Scope) -> None:
        """Write the whole body, so that every path returns a value."""
        if not self._block(scope, Place(), self._size.statements, 0.96):
            self._return(scope)

    # -- blocks

    def _block(self, scope: Scope, place: Place, most: int, more: float) -> bool:
        for _ in self._choices.several(most, more):
            if self._remaining <= 0:
                break
            self._remaining -= 1
            self.weight += self._allowance.copies
            forms = self._any if place.nesting < self._size.nesting else self._simple
            if self._choices.choice(forms)(scope, place):
                return True
        return place.nesting > 0 and self._jump(scope, place)

    def _inner_block(self, scope: Scope, place: Place) -> bool:
        with self._suite():
            return self._block(scope, place, 3, 0.75)

    def _jump(self, scope: Scope, place: Place) -> bool:
        if not self._choices.boolean(0.25 if place.nesting > place.loops else 0.04):
            return False
        kind = self._choices.choice(("break", "continue", "return") if place.in_loop else ("return",))
        if kind == "return":
            self._return(scope)
        else:
            self._write(kind)
        if self._choices.boolean(0.08):
            self._assign(scope.copy(), place)  # never reached: analyses must not stumble over it
        return True

    def _return(self, scope: Scope) -> None:
        if isinstance(self._result, Kind):
            self._write(f"return {self._value(self._result, scope)}")
        else:
            self._write(f"return {self._tuple(self._result, scope)}")

    # -- values and targets

    def _value(self, kind: Kind, scope: Scope) -> str:
        return self._expressions.fitted(kind, scope, self._choices.integer(0, self._size.expression))

    def _tuple(self, kinds: tuple[Kind, ...], scope: Scope) -> str:
        return f"({', '.join(self._value(kind, scope) for kind in kinds)})"

    def _kind(self, scope: Scope) -> Kind:
        return self._choices.choice((Kind.INT, *scope.kinds()))

    def _target(self, shape: Shape, scope: Scope) -> str:
        """Return a name to assign; the caller marks it as assigned once the value is written."""
        known = scope.assignable(shape)
        return self._choices.choice(known) if known and self._choices.boolean(0.6) else self._names.fresh(shape)

    def _targets(self, kinds: tuple[Kind, ...], scope: Scope) -> list[str]:
        """Return different names to assign."""
        names: list[str] = []
        for kind in kinds:
            name = self._target(kind, scope)
            names.append(name if name not in names else self._names.fresh(kind))
        return names

    # -- simple statements

    def _assign(self, scope: Scope, place: Place) -> bool:
        kind = self._kind(scope)
        value = self._value(kind, scope)
        name = self._target(kind, scope)
        self._write(f"{name} = {value}")
        scope.variables[name] = kind
        return False

    def _augment(self, scope: Scope, place: Place) -> bool:
        kind = self._kind(scope)
        names = scope.assignable(kind)
        if not names:
            return self._assign(scope, place)
        name, value = self._choices.choice(names), self._value(kind, scope)
        if kind is Kind.BOOL:
            self._write(f"{name} {self._choices.choice(('&=', '|=', '^='))} {value}")
        elif self._choices.boolean(0.3):
            operator = self._choices.choice(("//=", "%="))
            self._write(f"{name} {operator} {self._choices.choice((3, 7, -4, -11))}")
        else:
            self._write(f"{name} {self._choices.choice(('+=', '-=', '*='))} {value}")
            self._write(f"{name} %= {self._choices.choice((997, -991, 51))}")
        return False

    def _assign_tuple(self, scope: Scope, place: Place) -> bool:
        kinds = tuple(self._kind(scope) for _ in range(self._choices.integer(2, 3)))
        if self._choices.boolean(0.4):
            value, name = self._tuple(kinds, scope), self._target(kinds, scope)
            self._write(f"{name} = {value}")
            scope.variables[name] = kinds
            return False
        values = [self._value(kind, scope) for kind in kinds]
        names = self._targets(kinds, scope)
        if len(kinds) == 3 and self._choices.boolean(0.3):
            self._write(f"{names[0]}, ({names[1]}, {names[2]}) = {values[0]}, ({values[1]}, {values[2]})")
        else:
            self._write(f"{', '.join(names)} = {', '.join(values)}")
        scope.variables.update(zip(names, kinds, strict=True))
        return False

    def _swap(self, scope: Scope, place: Place) -> bool:
        kind = self._kind(scope)
        names = scope.assignable(kind)
        if len(names) < 2:
            return self._assign(scope, place)
        left = self._choices.choice(names)
        right = self._choices.choice([name for name in names if name != left])
        self._write(f"{left}, {right} = {right}, {left}")
        return False

    def _unpack(self, scope: Scope, place: Place) -> bool:
        """Take apart a tuple variable or the result of a function that returns a tuple."""
        sources: list[tuple[str, tuple[Kind, ...]]] = scope.tuples()
        results = dict.fromkeys(signature.result for signature in scope.callables)
        pairs = [result for result in results if isinstance(result, tuple)]
        callables = [found for pair in pairs for found in scope.callable_with(pair, self._allowance.calls())]
        if callables and self._choices.boolean(0.7):
            signature = self._choices.choice(callables)
            assert isinstance(signature.result, tuple)
            sources = [(self._expressions.call(signature, scope, 1), signature.result)]
        if not sources:
            return self._assign_tuple(scope, place)
        text, kinds = self._choices.choice(sources)
        names = self._targets(kinds, scope)
        self._write(f"{', '.join(names)} = {text}")
        scope.variables.update(zip(names, kinds, strict=True))
        return False

    def _starred(self, scope: Scope, place: Place) -> bool:
        kinds = tuple(self._kind(scope) for _ in range(4))
        values = self._tuple(kinds, scope)
        first, *middle, last = self._targets(kinds, scope)
        rest = self._names.fresh_with("r")
        self._write(f"{first}, *{rest}, {last} = {values}")
        self._write(f"{', '.join(middle)} = {rest}")
        scope.variables.update(zip((first, *middle, last), kinds, strict=True))
        return False

    def _chain(self, scope: Scope, place: Place) -> bool:
        kind = self._kind(scope)
        value = self._value(kind, scope)
        names = self._targets((kind, kind), scope)
        self._write(f"{names[0]} = {names[1]} = {value}")
        scope.variables.update(dict.fromkeys(names, kind))
        return False

    def _temporary(self, scope: Scope, place: Place) -> bool:
        name, value = self._names.fresh_with("tmp"), self._value(Kind.INT, scope)
        self._write(f"{name} = {value}")
        inner = scope.with_frozen(name)
        inner.variables[name] = Kind.INT
        target, using = self._target(Kind.INT, inner), self._value(Kind.INT, inner)
        self._write(f"{target} = {name} - {using} if {self._expressions.condition(inner, 1)} else {name}")
        self._write(f"{target} %= 499")
        self._write(f"del {name}")
        scope.variables[target] = Kind.INT
        del scope.variables[name]
        return False

    def _assert(self, scope: Scope, place: Place) -> bool:
        if scope.hazard is not None and self._choices.boolean(0.5):
            self._write(f"assert {scope.hazard} != {self._choices.integer(-3, 5)}")
            return False
        names = scope.names(Kind.INT)
        name = self._choices.choice(names) if names else "1"
        bound = int(LIMITS[Kind.INT])
        claim = self._choices.choice((f"{name} <= {bound}", f"-{bound} <= {name} < {bound + 1}", f"{name} % 7 < 7"))
        self._write(f"assert {claim}, 'holds'")
        return False

    def _nested(self, scope: Scope, place: Place) -> bool:
        """Define a function that reads what surrounds it, to be called from here on."""
        if self._size.statements < 6 or place.nesting >= self._size.nesting:
            return self._assign(scope, place)
        kinds = tuple(self._kind(scope) for _ in range(self._choices.integer(1, 2)))
        result = self._kind(scope)
        inner = scope.closed_over()
        parameters = tuple(self._names.fresh(kind) for kind in kinds)
        inner.variables.update(zip(parameters, kinds, strict=True))
        writer = Statements(self._choices, self._names, self._allowance, Size(3, 1, 2), result)
        writer._indent = self._indent + 1
        writer.body(inner)
        name = self._names.fresh_with("g")
        self._write(f"def {name}({', '.join(parameters)}):")
        self.lines += writer.lines
        scope.callables += (Signature(name, parameters, kinds, result, writer.weight),)
        return False

    # -- branches

    def _if(self, scope: Scope, place: Place) -> bool:
        common = [self._kind(scope) for _ in range(self._choices.integer(0, 2))]
        joined = {self._target(kind, scope): kind for kind in common}
        ends: list[Scope] = []
        rest = scope.copy()
        keywords = ["if", *["elif"] * self._choices.choice((0, 0, 0, 1, 1, 2))]
        for keyword in keywords:
            self._write(f"{keyword} {self._test(rest)}:")
            self._branch(rest.copy(), place, joined, ends)
        if self._choices.boolean(0.7):
            self._write("else:")
            self._branch(rest, place, joined, ends)
        else:
            ends.append(rest)
        if not ends:
            return True
        everywhere = set.intersection(*(set(end.variables) for end in ends))
        scope.variables = {name: its for name, its in ends[0].variables.items() if name in everywhere}
        return False

    def _test(self, scope: Scope) -> str:
        """Write a condition, sometimes naming a number in it: the name is then known on both sides of the branch."""
        if not self._choices.boolean(0.15):
            return self._expressions.condition(scope, 2)
        value = self._value(Kind.INT, scope)
        name = self._target(Kind.INT, scope)
        scope.variables[name] = Kind.INT
        return f"({name} := {value}) {self._choice_of_comparison()} {self._value(Kind.INT, scope)}"

    def _choice_of_comparison(self) -> str:
        return self._choices.choice(("<", ">", "!=", "<="))

    def _branch(self, scope: Scope, place: Place, joined: dict[str, Kind], ends: list[Scope]) -> None:
        if self._inner_block(scope, place.branch()):
            return
        with self._indented():
            for name, kind in joined.items():
                self._write(f"{name} = {self._value(kind, scope)}")
                scope.variables[name] = kind
        ends.append(scope)

    # -- loops

    def _for_range(self, scope: Scope, place: Place) -> bool:
        if place.loops >= 3:
            return self._if(scope, place)
        bounds = self._range(scope)
        target = self._target(Kind.INT, scope)
        self._write(f"for {target} in range({bounds}):")
        inner = scope.copy()
        inner.variables[target] = Kind.INT
        self._loop_body(inner, scope, place)
        return False

    def _range(self, scope: Scope) -> str:
        start, stop, step = (self._expressions.fitted(Kind.INT, scope, 1) for _ in range(3))
        return self._choices.choice(
            (
                f"{stop} % 6",
                f"{self._choices.integer(0, 5)}",
                f"{start} % 4, {stop} % 7",
                f"{start} % 6, {stop} % 3 - 2, -1",
                f"-3, {stop} % 8, {self._choices.integer(2, 4)}",
                f"{start} % 5, {stop} % 9, {step} % 3 + 1",
                f"{start} % 9, {stop} % 5, -({step} % 3) - 1",
            )
        )

    def _for_static(self, scope: Scope, place: Place) -> bool:
        """Iterate over a tuple, which Python does at compile time: the body is copied."""
        if self._allowance.copies * 3 > MOST_COPIES or place.loops >= 3:
            return self._if(scope, place)
        values = self._expressions.static_values()
        target = self._target(Kind.INT, scope)
        inner = scope.copy()
        inner.variables[target] = Kind.INT
        form = self._choices.integer(0, 2)
        if form == 0:
            self._write(f"for {target} in {values}:")
        elif form == 1:
            count = self._names.fresh(Kind.INT)
            inner.variables[count] = Kind.INT
            self._write(f"for {count}, {target} in enumerate({values}):")
        else:
            self._write(f"for {target} in ({self._value(Kind.INT, scope)}, {self._value(Kind.INT, scope)}):")
        self._allowance.copies *= 3
        self._loop_body(inner, scope, place)
        self._allowance.copies //= 3
        return False

    def _while(self, scope: Scope, place: Place) -> bool:
        if place.loops >= 3:
            return self._if(scope, place)
        fuel = self._names.fresh_with("fuel")
        static = self._allowance.copies * 3 <= MOST_COPIES and self._choices.boolean(0.3)
        self._write(f"{fuel} = 3" if static else f"{fuel} = {self._expressions.fitted(Kind.INT, scope, 1)} % 6")
        scope.variables[fuel] = Kind.INT
        scope.frozen |= {fuel}
        self._allowance.copies *= 3 if static else 1
        form, test = self._choices.integer(0, 4), ""
        if form == 4:
            walrus, tested = self._names.fresh(Kind.INT), self._expressions.fitted(Kind.INT, scope, 1)
            scope.variables[walrus] = Kind.INT
            test = f"({walrus} := {tested}) > -9999"
        inner = scope.copy()
        if form == 1:
            test = self._expressions.of(Kind.BOOL, inner, 2).text
        self._while_burning(fuel, form, test)
        self._loop_body(inner, scope, place)
        self._allowance.copies //= 3 if static else 1
        return False

    def _loop_body(self, inner: Scope, after: Scope, place: Place) -> None:
        self._inner_block(inner, place.body())
        if self._choices.boolean(0.25):
            self._write("else:")
            self._inner_block(after.copy(), place.branch())
