"""Random expressions of a kernel: text of a wanted type, on whose value threads agree as far as asked.

Integers may wrap, which means the same everywhere; floats are whole numbers small enough to stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.differential.choices import Choices
from tests.differential.kernels.launch import Launch
from tests.differential.kernels.scope import (
    EXACT,
    LIMITS,
    WIDTHS,
    Expression,
    Helper,
    Kind,
    Level,
    Memory,
    Scope,
    Tensor,
)

Form = Callable[[Kind, Scope, int, Level], Expression]

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
LITERALS = (0, 1, 2, 3, 5, 7, 31, 32, 100, -1, -2, -7, -100)
DIVISORS = (2, 3, 4, 7, 8, 16, 31, 32, -2, -3, -8)
ENDS = {
    Kind.INT8: (127, -128),
    Kind.INT32: (2**31 - 1, -(2**31)),
    Kind.UINT32: (2**31, 2**32 - 1),
    Kind.INT64: (2**32, 2**63 - 1, -(2**63)),
}
"""Constants at the ends of each type, where what is signed and what is not differ."""
FLOAT_LITERALS = (0.0, 1.0, 2.0, 3.0, 7.0, -1.0, -2.0, -5.0)
SIGNED = (Kind.INT8, Kind.INT32, Kind.INT64)


class Expressions:
    """Makes expressions; `depth` bounds the nesting, and every form falls back on an atom when it cannot be made."""

    def __init__(self, choices: Choices, launch: Launch, memory: Memory, helpers: Sequence[Helper]) -> None:
        self._choices = choices
        self._launch = launch
        self._memory = memory
        self._helpers = helpers
        shared = (self._ternary, self._extreme, self._and_or, self._load, self._load, self._call, self._unary)
        self._integer_forms: tuple[Form, ...] = (
            self._atom,
            *(self._arithmetic, self._arithmetic, self._division, self._bits, self._shift, self._widened),
            *(self._converted, *shared),
        )
        self._float_forms: tuple[Form, ...] = (
            self._atom,
            *(self._float_arithmetic, self._float_arithmetic, self._from_integer, self._float_modulo),
            *(self._converted, *shared),
        )
        self._bool_forms: tuple[Form, ...] = (
            self._comparison,
            *(self._lanes_differ, self._comparison, self._chained, self._both, self._not, self._atom, self._ternary),
        )

    # -- by type

    def of(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        """Make an expression of this type; floats may be larger than a variable holds."""
        if depth <= 0:
            return self._atom(kind, scope, depth, level)
        forms = self._bool_forms if kind is Kind.BOOL else self._float_forms if kind.is_float else self._integer_forms
        return self._choices.choice(forms)(kind, scope, depth - 1, level)

    def fitted(self, kind: Kind, scope: Scope, depth: int, level: Level) -> str:
        """Make an expression small enough for a variable."""
        return self._fit(kind, self.of(kind, scope, depth, level)).text

    def condition(self, scope: Scope, depth: int, level: Level) -> str:
        """Make what an `if` or `while` tests: mostly a bool, sometimes the truth of a number."""
        kind = self._choices.choice((Kind.BOOL,) * 7 + (Kind.INT32,))
        return self.of(kind, scope, depth, level).text

    def count(self, most: int, scope: Scope, level: Level) -> str:
        """Make a small Int32, below `most`."""
        if self._choices.boolean(0.3):
            return str(self._choices.integer(0, most - 1))
        return f"{self.of(Kind.INT32, scope, 1, level).text} % {most}"

    def index(self, extent: int, scope: Scope, depth: int, level: Level) -> str:
        """Make an Int32 that is a valid index."""
        if level is Level.THREAD and self._choices.boolean(0.5):
            return self._affine(extent)
        if self._choices.boolean(0.3):
            return str(self._choices.integer(0, extent - 1))
        inner = self.of(Kind.INT32, scope, depth, level).text
        if extent & (extent - 1) == 0 and self._choices.boolean(0.5):
            return f"{inner} & {extent - 1}"
        return f"{inner} % {extent}"

    def coordinate(self, tensor: Tensor, scope: Scope, depth: int, level: Level) -> str:
        """Make the indices of one element."""
        return ", ".join(self.index(extent, scope, depth, level) for extent in tensor.shape)

    def _affine(self, extent: int) -> str:
        """An index that is a multiple of the thread's number plus a constant, without a remainder if it fits."""
        name, count = self._choices.choice((("tid", self._launch.threads), ("gid", self._launch.total)))
        factor, offset = self._choices.choice((1, 1, 1, 2, 3, -1)), self._choices.integer(0, 3)
        if factor < 0 and count <= extent:
            return f"{count - 1} - {name}"
        if factor > 0 and 0 < factor * (count - 1) + offset < extent:
            return f"{name} * {factor} + {offset}" if factor > 1 else f"{name} + {offset}"
        return name if count <= extent else f"({name} + {offset}) % {extent}"

    def _fit(self, kind: Kind, expression: Expression, limit: float | None = None) -> Expression:
        if not kind.is_float or expression.bound <= (limit or LIMITS[kind]):
            return expression
        if self._choices.boolean(0.3):
            return Expression(f"min(max({expression.text}, -20.0), 20.0)", 20)
        modulus = self._choices.choice((17.0, 31.0, -13.0))
        return Expression(f"({expression.text} % {modulus})", abs(modulus))

    # -- atoms

    def _atom(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        names = scope.names(kind, level)
        computed = [name for name in names if name not in scope.frozen]
        names = computed if computed and self._choices.boolean(0.6) else names
        if names and not self._choices.boolean(0.2):
            return Expression(self._choices.choice(names), LIMITS.get(kind, 0))
        if kind is Kind.BOOL:
            return self._comparison(kind, scope, 0, level)
        value = self._literal(kind)
        return Expression(f"{kind.value}({value})", abs(float(value)))

    def _literal(self, kind: Kind) -> str:
        if kind.is_float:
            return str(self._choices.choice(FLOAT_LITERALS))
        return str(self._choices.choice(self._constants(kind, LITERALS)))

    @staticmethod
    def _constants(kind: Kind, usual: Sequence[int]) -> list[int]:
        return [*(value for value in usual if value >= 0 or kind in SIGNED), *ENDS[kind]]

    def _operand(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        """A second operand: an expression, or a bare constant, which takes the type of the first."""
        if self._choices.boolean(0.3):
            value = self._literal(kind)
            return Expression(value if not value.startswith("-") else f"({value})", abs(float(value)))
        return self.of(kind, scope, depth, level)

    def _load(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        texts: list[Callable[[], str]] = []
        for tensor in self._memory.readable():
            if tensor.kind is kind:
                texts.append(lambda its=tensor: f"{its.name}[{self.coordinate(its, scope, depth, level)}]")  # type: ignore[misc]
        if level is Level.THREAD:
            for tensor in self._memory.registers:
                if tensor.kind is kind:
                    texts.append(lambda its=tensor: f"{its.name}[{self.index(its.shape[0], scope, depth, level)}]")  # type: ignore[misc]
            own = [(output.tensor, output.cell) for output in self._memory.outputs]
            own += [(tensor, cell) for tensor, cell in self._memory.shared.items() if cell is not None]
            texts += [lambda t=tensor, c=cell: f"{t.name}[{c}]" for tensor, cell in own if tensor.kind is kind]  # type: ignore[misc]
        if not texts:
            return self._atom(kind, scope, depth, level)
        return Expression(self._choices.choice(texts)(), LIMITS.get(kind, 0))

    # -- integers

    def _arithmetic(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        operator = self._choices.choice(("+", "-", "*"))
        return self._joined(operator, self.of(kind, scope, depth, level), self._operand(kind, scope, depth, level))

    def _bits(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        operator = self._choices.choice(("&", "|", "^"))
        return self._joined(operator, self.of(kind, scope, depth, level), self._operand(kind, scope, depth, level))

    def _division(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        operator = self._choices.choice(("%", "//"))
        dividend = self.of(kind, scope, depth, level).text
        if self._choices.boolean(0.6):
            value = self._choices.choice(self._constants(kind, DIVISORS))
            return Expression(f"({dividend} {operator} {value if value > 0 else f'({value})'})")
        divisor = self.of(kind, scope, depth - 1, level).text
        return Expression(f"({dividend} {operator} (({divisor} & 7) + {self._choices.integer(1, 3)}))")

    def _shift(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        operand, operator = self.of(kind, scope, depth, level).text, self._choices.choice(("<<", ">>"))
        if self._choices.boolean(0.6):
            return Expression(f"({operand} {operator} {self._choices.integer(0, WIDTHS[kind] - 1)})")
        count = self.of(self._choices.choice((kind, Kind.INT32)), scope, depth - 1, level).text
        return Expression(f"({operand} {operator} ({count} & {self._choices.choice((3, 7, 15))}))")

    def _widened(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        """An operator whose operands differ in type: the narrower one is widened."""
        narrower = {Kind.INT32: (Kind.INT8,), Kind.INT64: (Kind.INT8, Kind.INT32)}.get(kind)
        if narrower is None:
            return self._arithmetic(kind, scope, depth, level)
        left = self.of(self._choices.choice(narrower), scope, depth, level)
        operator = self._choices.choice(("+", "-", "*", "^"))
        return self._joined(operator, left, self.of(kind, scope, depth, level))

    def _converted(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        """A number of another type; floats to integers only where the value fits."""
        others = [other for other in scope.kinds(level) if other is not kind]
        if kind.is_float:
            others = [other for other in others if other.is_float]
        elif kind in (Kind.INT8, Kind.UINT32):
            others = [other for other in others if not other.is_float]
        if not others:
            return self._atom(kind, scope, depth, level)
        other = self._choices.choice(others)
        if kind.is_float:
            inner = self._fit(other, self.of(other, scope, depth, level), LIMITS[kind])
        else:
            inner = self._fit(other, self.of(other, scope, depth, level))
        form = self._choices.choice(("{}({})", "{1}.to({0})"))
        return Expression(form.format(kind.value, f"({inner.text})" if form[1] == "1" else inner.text), inner.bound)

    # -- floats

    def _float_arithmetic(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        operator = self._choices.choice(("+", "-", "*"))
        left, right = self.of(kind, scope, depth, level), self._operand(kind, scope, depth, level)
        combine: Callable[[float, float], float] = float.__mul__ if operator == "*" else float.__add__
        if combine(float(left.bound), float(right.bound)) > EXACT[kind]:
            left, right = (self._fit(kind, operand, 20) for operand in (left, right))
        bound = combine(float(left.bound), float(right.bound))
        return Expression(f"({left.text} {operator} {right.text})", bound)

    def _float_modulo(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        dividend, modulus = self.of(kind, scope, depth, level), self._choices.choice((3.0, 8.0, -5.0))
        return Expression(f"({dividend.text} % {modulus})", abs(modulus))

    def _from_integer(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        integers = [other for other in scope.kinds(level) if other.is_integer]
        if not integers:
            return self._atom(kind, scope, depth, level)
        inner = self.of(self._choices.choice(integers), scope, depth, level)
        modulus = self._choices.choice((5, 16, 31))
        return Expression(f"{kind.value}({inner.text} % {modulus})", modulus)

    # -- bools

    def _comparison(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        return self._compared(scope, depth, level, 1)

    def _chained(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        return self._compared(scope, depth, level, self._choices.integer(2, 3))

    def _compared(self, scope: Scope, depth: int, level: Level, count: int) -> Expression:
        kind = self._choices.choice(scope.kinds(level) or (Kind.INT32,))
        parts = [self.of(kind, scope, depth, level).text]
        for _ in range(count):
            parts += [self._choices.choice(COMPARISONS), self._operand(kind, scope, depth, level).text]
        return Expression(f"({' '.join(parts)})")

    def _lanes_differ(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        """A condition on the thread's number, the usual cause of divergence."""
        if level is not Level.THREAD or "tid" not in scope.variables:
            return self._comparison(kind, scope, depth, level)
        name = self._choices.choice(("tid", "gid", "lane"))
        count = {"tid": self._launch.threads, "gid": self._launch.total, "lane": 32}[name]
        comparison = self._choices.choice(COMPARISONS)
        forms = (
            f"({name} < {self._choices.integer(0, count)})",
            f"({name} % {self._choices.integer(2, 5)} {comparison} {self._choices.integer(0, 2)})",
            f"(({name} & {self._choices.choice((1, 2, 4, 8))}) == 0)",
            f"({name} {comparison} {self.of(Kind.INT32, scope, depth, level).text})",
        )
        return Expression(self._choices.choice(forms))

    def _both(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        operator = self._choices.choice(("and", "or", "&", "|", "^"))
        return self._joined(operator, self.of(kind, scope, depth, level), self.of(kind, scope, depth, level))

    def _not(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        return Expression(f"(not {self.of(kind, scope, depth, level).text})")

    # -- any type

    def _joined(self, operator: str, left: Expression, right: Expression) -> Expression:
        return Expression(f"({left.text} {operator} {right.text})", max(left.bound, right.bound))

    def _ternary(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        condition = self.condition(scope, depth - 1, level)
        yes, no = self.of(kind, scope, depth, level), self.of(kind, scope, depth, level)
        return Expression(f"({yes.text} if {condition} else {no.text})", max(yes.bound, no.bound))

    def _and_or(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        operator = self._choices.choice(("and", "or"))
        return self._joined(operator, self.of(kind, scope, depth, level), self.of(kind, scope, depth, level))

    def _extreme(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        left, right = self.of(kind, scope, depth, level), self._operand(kind, scope, depth, level)
        name = self._choices.choice(("min", "max"))
        return Expression(f"{name}({left.text}, {right.text})", max(left.bound, right.bound))

    def _unary(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        operand = self.of(kind, scope, depth, level)
        forms = ("(-{})", "abs({})") if kind.is_float else ("(~{})", "(-{})", "abs({})")
        form = self._choices.choice(forms) if kind is not Kind.UINT32 else "(~{})"
        return Expression(form.format(operand.text), operand.bound)

    def _call(self, kind: Kind, scope: Scope, depth: int, level: Level) -> Expression:
        helpers = [helper for helper in self._helpers if helper.result is kind]
        if not helpers:
            return self.of(kind, scope, depth, level)
        helper = self._choices.choice(helpers)
        arguments = ", ".join(self.fitted(its, scope, depth - 1, level) for its in helper.kinds)
        return Expression(f"{helper.name}({arguments})", LIMITS.get(kind, 0))
