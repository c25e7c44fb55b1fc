"""Random expressions of a wanted type: text that all executions evaluate alike, with a bound on its value.

Floats always grow from a Float64 variable: a bare float constant is a Float32 in the language, a double in CPython.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.differential.choices import Choices
from tests.differential.scope import INT32_MAX, LIMITS, Expression, Kind, Names, Scope, Signature

Form = Callable[[Scope, int], Expression]

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
INT_LITERALS = (0, 1, 2, 3, 5, 7, 10, 17, 100, 999, -1, -2, -3, -8, -50, -1000)
INT_DIVISORS = (2, 3, 7, 10, 1, -1, -2, -3, -7, -10)
INT_MODULI = (997, 97, 13, -983, -89, -11)
FLOAT_LITERALS = (0.5, 1.0, 2.0, 0.25, 3.75, 0.1, 10.5, -0.5, -1.25, -7.1)
FLOAT_DIVISORS = (2.0, 0.5, 3.0, 7.25, 0.1, -2.0, -0.75, -3.3)
FLOAT_MODULI = (977.25, 64.0, 3.7, -512.5, -5.3)


@dataclass(slots=True)
class Allowance:
    """How much code a call may still inline; what is inside a loop unrolled at compile time counts once per copy."""

    statements: int
    copies: int = 1

    def calls(self) -> int:
        """Return the size a function may have to be called here."""
        return self.statements // self.copies

    def spend(self, statements: int) -> None:
        """Take the code of one call."""
        self.statements -= statements * self.copies


def literal(value: float) -> str:
    """Return the text of a constant, safe as an operand."""
    return str(value) if value >= 0 else f"({value})"


class Expressions:
    """Makes expressions; `depth` bounds the nesting, and every form falls back on an atom when it cannot be made."""

    def __init__(self, choices: Choices, names: Names, allowance: Allowance) -> None:
        self._choices = choices
        self._names = names
        self._allowance = allowance
        arithmetic: tuple[Form, ...] = (self._int_arithmetic, self._int_division, self._int_ternary)
        seldom: tuple[Form, ...] = (
            self._int_unary,
            self._int_bits,
            self._int_shift,
            self._int_and_or,
            self._int_guarded_division,
            self._int_plus_bool,
            self._int_lambda,
            self._int_comprehension,
            self._int_walrus,
            self._int_hazard,
        )
        self._int_forms = (self._int_atom, self._int_arithmetic, *arithmetic, *seldom, *arithmetic, self._int_call)
        self._float_forms: tuple[Form, ...] = (
            self._float_atom,
            self._float_with_literal,
            self._float_with_float,
            self._float_with_int,
            self._float_division,
            self._float_division,
            self._float_unary,
            self._float_ternary,
            self._float_call,
            self._float_lambda,
        )
        self._bool_forms: tuple[Form, ...] = (
            self._comparison,
            self._bool_atom,
            self._comparison,
            self._chained_comparison,
            self._bool_and_or,
            self._bool_and_or,
            self._bool_not,
            self._bool_bits,
            self._bool_guard,
            self._bool_call,
            self._bool_ternary,
        )

    # -- by type

    def of(self, kind: Kind, scope: Scope, depth: int) -> Expression:
        """Make an expression of this type, of any magnitude 32 bits can hold."""
        forms = {Kind.INT: self._int_forms, Kind.FLOAT: self._float_forms, Kind.BOOL: self._bool_forms}[kind]
        if depth <= 0:
            return self._atom(kind, scope)
        return self._choices.choice(forms)(scope, depth - 1)

    def fitted(self, kind: Kind, scope: Scope, depth: int) -> str:
        """Make an expression small enough for a variable of this type."""
        return self.fit(kind, self.of(kind, scope, depth)).text

    def fit(self, kind: Kind, expression: Expression) -> Expression:
        """Bring an expression within the bound of a variable of its type."""
        if expression.bound <= LIMITS[kind]:
            return expression
        modulus = self._choices.choice(INT_MODULI if kind is Kind.INT else FLOAT_MODULI)
        return Expression(f"({expression.text} % {modulus})", abs(modulus))

    def condition(self, scope: Scope, depth: int) -> str:
        """Make what an `if` or `while` tests: mostly a bool, sometimes the truth of a number."""
        kind = self._choices.choice((Kind.BOOL,) * 6 + (Kind.INT, *scope.kinds()))
        if kind is Kind.BOOL and self._choices.boolean(0.2):
            operator = self._choices.choice(("and", "or"))
            return f"{self.of(Kind.INT, scope, depth - 1).text} {operator} {self.of(Kind.BOOL, scope, depth - 1).text}"
        return self.of(kind, scope, depth).text

    def call(self, signature: Signature, scope: Scope, depth: int) -> str:
        """Make a call, its last arguments sometimes passed by keyword."""
        self._allowance.spend(signature.weight)
        values = [self.fitted(kind, scope, depth) for kind in signature.kinds]
        if self._choices.boolean(0.15):
            values[-1] = f"{signature.parameters[-1]}={values[-1]}"
        return f"{signature.name}({', '.join(values)})"

    def static_values(self) -> str:
        """Make a tuple of constants to iterate over at compile time."""
        values = [self._choices.integer(-5, 9) for _ in range(self._choices.integer(2, 3))]
        return f"({', '.join(map(str, values))})"

    # -- atoms

    def _atom(self, kind: Kind, scope: Scope) -> Expression:
        readable = [*scope.names(kind)]
        readable += [f"{name}[{at}]" for name, kinds in scope.tuples() for at, its in enumerate(kinds) if its is kind]
        constant = kind is not Kind.FLOAT and (not readable or self._choices.boolean(0.3))
        if not constant:
            return Expression(self._choices.choice(readable), LIMITS[kind])
        if kind is Kind.BOOL:
            return Expression(self._choices.choice(("True", "False")), 1)
        value = self._choices.choice(INT_LITERALS)
        return Expression(literal(value), abs(value))

    def _int_atom(self, scope: Scope, depth: int) -> Expression:
        return self._atom(Kind.INT, scope)

    def _float_atom(self, scope: Scope, depth: int) -> Expression:
        return self._atom(Kind.FLOAT, scope)

    def _bool_atom(self, scope: Scope, depth: int) -> Expression:
        return self._atom(Kind.BOOL, scope)

    # -- ints

    def _int_arithmetic(self, scope: Scope, depth: int) -> Expression:
        left, right = self.of(Kind.INT, scope, depth), self.of(Kind.INT, scope, depth)
        operator = self._choices.choice(("+", "-", "*"))
        combine: Callable[[float, float], float] = float.__mul__ if operator == "*" else float.__add__
        if combine(float(left.bound), float(right.bound)) > INT32_MAX:
            left, right = self.fit(Kind.INT, left), self.fit(Kind.INT, right)
        return Expression(f"({left.text} {operator} {right.text})", combine(float(left.bound), float(right.bound)))

    def _int_division(self, scope: Scope, depth: int) -> Expression:
        dividend, divisor = self.of(Kind.INT, scope, depth), self._int_divisor(scope, depth)
        if self._choices.boolean(0.5):
            return Expression(f"({dividend.text} % {divisor.text})", divisor.bound)
        return Expression(f"({dividend.text} // {divisor.text})", dividend.bound + 1)

    def _int_divisor(self, scope: Scope, depth: int) -> Expression:
        if self._choices.boolean(0.6):
            value = self._choices.choice(INT_DIVISORS)
            return Expression(literal(value), abs(value))
        inner = self.of(Kind.INT, scope, depth - 1).text
        return Expression(self._choices.choice((f"({inner} % 7 + 1)", f"({inner} % 5 - 9)")), 9)

    def _int_unary(self, scope: Scope, depth: int) -> Expression:
        operand = self.fit(Kind.INT, self.of(Kind.INT, scope, depth))
        form = self._choices.choice(("(-{})", "abs({})", "(~{})", "(+{})"))
        return Expression(form.format(operand.text), operand.bound + 1)

    def _int_bits(self, scope: Scope, depth: int) -> Expression:
        operands = [self.fit(Kind.INT, self.of(Kind.INT, scope, depth)) for _ in range(2)]
        operator = self._choices.choice(("&", "|", "^"))
        return Expression(f"({operands[0].text} {operator} {operands[1].text})", 1024)

    def _int_shift(self, scope: Scope, depth: int) -> Expression:
        operand = self.fit(Kind.INT, self.of(Kind.INT, scope, depth))
        count, operator = self._choices.integer(0, 5), self._choices.choice((">>", "<<"))
        return Expression(f"({operand.text} {operator} {count})", operand.bound * 32)

    def _int_and_or(self, scope: Scope, depth: int) -> Expression:
        return self._joined("({} {} {})", self._choices.choice(("and", "or")), Kind.INT, scope, depth)

    def _int_guarded_division(self, scope: Scope, depth: int) -> Expression:
        names = scope.names(Kind.INT)
        if not names:
            return self._atom(Kind.INT, scope)
        divisor = self._choices.choice(names)
        inner = scope.with_frozen(divisor)
        dividend, otherwise = self.of(Kind.INT, inner, depth), self.of(Kind.INT, inner, depth - 1)
        operator = self._choices.choice(("//", "%"))
        form = self._choices.choice(("({0} {1} {2} if {2} else {3})", "({3} if {2} == 0 else {0} {1} {2})"))
        bound = max(dividend.bound + 1, otherwise.bound, LIMITS[Kind.INT])
        return Expression(form.format(dividend.text, operator, divisor, otherwise.text), bound)

    def _int_plus_bool(self, scope: Scope, depth: int) -> Expression:
        number, truth = self.fit(Kind.INT, self.of(Kind.INT, scope, depth)), self.of(Kind.BOOL, scope, depth)
        return Expression(f"({number.text} + {truth.text})", number.bound + 1)

    def _int_ternary(self, scope: Scope, depth: int) -> Expression:
        return self._ternary(Kind.INT, scope, depth)

    def _int_call(self, scope: Scope, depth: int) -> Expression:
        return self._called(Kind.INT, scope, depth)

    def _int_lambda(self, scope: Scope, depth: int) -> Expression:
        return self._lambda(Kind.INT, scope, depth)

    def _int_comprehension(self, scope: Scope, depth: int) -> Expression:
        name = self._names.fresh_with("k")
        self._allowance.copies *= 3
        element = self.fit(Kind.INT, self.of(Kind.INT, scope.inside_expression(**{name: Kind.INT}), depth))
        self._allowance.copies //= 3
        values = self.static_values()
        condition = f" if {name} % 2 == 0" if self._choices.boolean(0.2) else ""
        return Expression(f"sum([{element.text} for {name} in {values}{condition}])", 3 * element.bound)

    def _int_walrus(self, scope: Scope, depth: int) -> Expression:
        targets = scope.assignable(Kind.INT)
        if not targets:
            return self._atom(Kind.INT, scope)
        value = self.fitted(Kind.INT, scope, depth)
        return Expression(f"({self._choices.choice(targets)} := {value})", LIMITS[Kind.INT])

    def _int_hazard(self, scope: Scope, depth: int) -> Expression:
        if scope.hazard is None:
            return self._int_arithmetic(scope, depth)
        operand = self.fit(Kind.INT, self.of(Kind.INT, scope, depth))
        operator = self._choices.choice(("//", "%", ">>", "<<"))
        return Expression(f"({operand.text} {operator} {scope.hazard})", 4096 * LIMITS[Kind.INT])

    # -- floats

    def _float_with_literal(self, scope: Scope, depth: int) -> Expression:
        operand, value = self.of(Kind.FLOAT, scope, depth), self._choices.choice(FLOAT_LITERALS)
        constant = Expression(literal(value), abs(value))
        return self._float_arithmetic(*self._either_order(operand, constant))

    def _float_with_float(self, scope: Scope, depth: int) -> Expression:
        return self._float_arithmetic(self.of(Kind.FLOAT, scope, depth), self.of(Kind.FLOAT, scope, depth))

    def _float_with_int(self, scope: Scope, depth: int) -> Expression:
        operands = self.of(Kind.FLOAT, scope, depth), self.of(Kind.INT, scope, depth)
        return self._float_arithmetic(*self._either_order(*operands))

    def _float_arithmetic(self, left: Expression, right: Expression) -> Expression:
        operator = self._choices.choice(("+", "-", "*"))
        bound = left.bound * right.bound if operator == "*" else left.bound + right.bound
        return Expression(f"({left.text} {operator} {right.text})", bound)

    def _float_division(self, scope: Scope, depth: int) -> Expression:
        dividend, operator = self.of(Kind.FLOAT, scope, depth), self._choices.choice(("/", "//", "%"))
        if self._choices.boolean(0.5):
            value = self._choices.choice(FLOAT_DIVISORS)
            divisor = Expression(literal(value), abs(value))
        else:
            inner = self.of(Kind.FLOAT, scope, depth - 1)
            divisor = Expression(f"(abs({inner.text}) + 1.5)", inner.bound + 1.5)
        bound = divisor.bound if operator == "%" else dividend.bound * 10 + 1
        return Expression(f"({dividend.text} {operator} {divisor.text})", bound)

    def _float_unary(self, scope: Scope, depth: int) -> Expression:
        operand = self.of(Kind.FLOAT, scope, depth)
        return Expression(self._choices.choice(("(-{})", "abs({})")).format(operand.text), operand.bound)

    def _float_ternary(self, scope: Scope, depth: int) -> Expression:
        return self._ternary(Kind.FLOAT, scope, depth)

    def _float_call(self, scope: Scope, depth: int) -> Expression:
        return self._called(Kind.FLOAT, scope, depth)

    def _float_lambda(self, scope: Scope, depth: int) -> Expression:
        return self._lambda(Kind.FLOAT, scope, depth)

    # -- bools

    def _comparison(self, scope: Scope, depth: int) -> Expression:
        return self._compared(scope, depth, 2)

    def _chained_comparison(self, scope: Scope, depth: int) -> Expression:
        return self._compared(scope, depth, self._choices.integer(3, 4))

    def _compared(self, scope: Scope, depth: int, count: int) -> Expression:
        kind = self._choices.choice([kind for kind in scope.kinds() if kind is not Kind.BOOL])
        parts = [self._compared_operand(kind, scope, depth)]
        for _ in range(count - 1):
            parts += [self._choices.choice(COMPARISONS), self._compared_operand(kind, scope, depth)]
        return Expression(f"({' '.join(parts)})", 1)

    def _compared_operand(self, kind: Kind, scope: Scope, depth: int) -> str:
        if kind is Kind.FLOAT and self._choices.boolean(0.3):
            kind = Kind.INT
        if self._choices.boolean(0.2):
            return self._called(kind, scope, depth).text
        return self.of(kind, scope, depth).text

    def _bool_and_or(self, scope: Scope, depth: int) -> Expression:
        return self._joined("({} {} {})", self._choices.choice(("and", "or")), Kind.BOOL, scope, depth)

    def _bool_bits(self, scope: Scope, depth: int) -> Expression:
        return self._joined("({} {} {})", self._choices.choice(("==", "!=", "&", "|", "^")), Kind.BOOL, scope, depth)

    def _bool_not(self, scope: Scope, depth: int) -> Expression:
        kind = self._choices.choice((Kind.BOOL, Kind.BOOL, Kind.INT))
        return Expression(f"(not {self.of(kind, scope, depth).text})", 1)

    def _bool_guard(self, scope: Scope, depth: int) -> Expression:
        names = scope.names(Kind.INT)
        if not names:
            return self._comparison(scope, depth)
        divisor = self._choices.choice(names)
        dividend = self.of(Kind.INT, scope.with_frozen(divisor), depth).text
        form = self._choices.choice(
            ("({1} != 0 and {0} // {1} > 2)", "({1} == 0 or {0} % {1} < 3)", "(not {1} or {0} // {1} != {0} % {1})")
        )
        return Expression(form.format(dividend, divisor), 1)

    def _bool_call(self, scope: Scope, depth: int) -> Expression:
        return self._called(Kind.BOOL, scope, depth)

    def _bool_ternary(self, scope: Scope, depth: int) -> Expression:
        return self._ternary(Kind.BOOL, scope, depth)

    # -- any type

    def _joined(self, form: str, operator: str, kind: Kind, scope: Scope, depth: int) -> Expression:
        left, right = self.of(kind, scope, depth), self.of(kind, scope, depth)
        return Expression(form.format(left.text, operator, right.text), max(left.bound, right.bound))

    def _ternary(self, kind: Kind, scope: Scope, depth: int) -> Expression:
        condition = self.condition(scope, depth - 1)
        yes, no = self.of(kind, scope, depth), self.of(kind, scope, depth)
        return Expression(f"({yes.text} if {condition} else {no.text})", max(yes.bound, no.bound))

    def _called(self, kind: Kind, scope: Scope, depth: int) -> Expression:
        signatures = scope.callable_with(kind, self._allowance.calls())
        if not signatures:
            return self.of(kind, scope, depth)
        return Expression(self.call(self._choices.choice(signatures), scope, depth), LIMITS[kind])

    def _lambda(self, kind: Kind, scope: Scope, depth: int) -> Expression:
        kinds = [kind, *(self._choices.choice(scope.kinds()) for _ in range(self._choices.integer(0, 1)))]
        values = [self.fitted(its, scope, depth - 1) for its in kinds]
        names = self._parameter_names(kinds, scope)
        body = self.of(kind, scope.inside_expression(**dict(zip(names, kinds, strict=True))), depth)
        return Expression(f"(lambda {', '.join(names)}: {body.text})({', '.join(values)})", body.bound)

    def _parameter_names(self, kinds: Sequence[Kind], scope: Scope) -> list[str]:
        """Name lambda parameters, the first sometimes like a variable outside, which it then hides."""
        names = [self._names.fresh(kind) for kind in kinds]
        outside = [name for name in scope.names(kinds[0]) if name != scope.hazard]
        if outside and self._choices.boolean(0.25):
            names[0] = self._choices.choice(outside)
        return names

    def _either_order(self, left: Expression, right: Expression) -> tuple[Expression, Expression]:
        return (right, left) if self._choices.boolean(0.3) else (left, right)
