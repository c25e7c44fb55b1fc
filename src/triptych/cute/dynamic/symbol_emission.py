"""Symbolic integers -> operations: the exact polynomial is evaluated on the run-time numbers behind it.

Sums and products may be computed modulo the width of their result; what is divided or compared must be exact. So every
operand gets the type that its range needs, 32 bits where that is proven and 64 otherwise; what needs more wraps at 64.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import field
from typing import Any, TypeAlias

from triptych.layout.errors import UndecidableError
from triptych.layout.integers import Int
from triptych.layout.mixed_radix import digits
from triptych.layout.ranges import Range, Ranges
from triptych.layout.symbolic import Atom, Monomial, Operation, Symbol, SymInt
from triptych.metastage.trace.trace import active
from triptych.metastage.values.arithmetic import checked_divisor
from triptych.metastage.values.emission import emit
from triptych.metastage.values.scalars import Int32, Int64, Int128, Numeric, Uint32, Uint64
from triptych.support.dataclass import dataclass

Factor: TypeAlias = tuple[Atom, bool]
"""A factor of a product; True stands for the caller's whole number instead of the symbol, its `divisor`-th part."""

_UNSIGNED: dict[type[Numeric], type[Numeric]] = {Int32: Uint32, Int64: Uint64}
_DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {"//": operator.floordiv, "%": operator.mod}
_UNSIGNED_DIVISIONS = {"//": "arith.divui", "%": "arith.remui"}
_NO_SIGN = "triptych.no_sign"
"""Marks divisions of numbers that would be the same as signed ones."""
_OPERATIONS = {"min": "arith.minsi", "&": "arith.andi", "^": "arith.xori"}


@dataclass(frozen=True, slots=True, eq=False)
class TracedSymbol(Symbol):
    """An unknown that stands for a run-time number; two are equal when they stand for the same one."""

    number: Numeric = field(kw_only=True)
    values: Range = field(kw_only=True)
    """The smallest and the largest number it may be."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TracedSymbol) and self.number is other.number and self.divisor == other.divisor

    def __hash__(self) -> int:
        return hash((id(self.number), self.divisor))


def kind_for(values: Range, widest: type[Numeric] = Int64) -> type[Numeric]:
    """The smallest machine integer that holds a range; `widest` when none does."""
    kinds = (kind for kind in (Int32, Int64, Int128) if kind is widest or all(map(kind.info.holds, values)))
    return next(kinds)


class Emitter:
    """Emits each subexpression of the values it is given once; what `outer` has emitted can be used too."""

    def __init__(self, outer: Emitter | None = None) -> None:
        self._ranges = Ranges(_symbol_range)
        self._emitted: dict[tuple[Any, ...], Numeric] = {}
        self._outer = outer

    def integer(self, value: Int, widest: type[Numeric] = Int64) -> Any:
        """A number for a symbolic integer; an int stays one."""
        if not isinstance(value, SymInt):
            return value
        return self._once((value.terms, widest), lambda: self._sum(value, widest))

    def fits(self, value: Int, kind: type[Numeric]) -> bool:
        """Whether a machine integer holds all that a symbolic one may be."""
        return all(map(kind.info.holds, self._ranges.of(value)))

    def _once(self, key: tuple[Any, ...], emit_it: Callable[[], Numeric]) -> Numeric:
        emitter: Emitter | None = self
        while emitter is not None:
            known = emitter._emitted.get(key)
            if known is not None:
                return known
            emitter = emitter._outer
        number = self._emitted[key] = emit_it()
        return number

    def _sum(self, value: SymInt, widest: type[Numeric]) -> Any:
        terms = dict(digits(value))
        numbers = (*self._ranges.of_terms(tuple(terms.items())), *terms.values())
        kind = kind_for((min(numbers), max(numbers)), widest)
        constant = terms.pop((), 0)
        total: Any = 0
        for monomial, coefficient in terms.items():
            factors, times = _factors(monomial, coefficient)
            part: Any = self._product(factors, kind)
            if times == -1:
                total = total - part
            else:
                scaled = part if times == 1 else part * times
                total = scaled if isinstance(total, int) else total + scaled
        return total + constant if constant else total

    def _product(self, factors: tuple[Factor, ...], kind: type[Numeric]) -> Any:
        def emit_it() -> Any:
            last: Any = self._factor(factors[-1]).to(kind)
            return self._product(factors[:-1], kind) * last if factors[1:] else last

        return self._once((factors, kind), emit_it)

    def _factor(self, factor: Factor) -> Numeric:
        atom, whole = factor
        return self._once(factor, lambda: self._operation(atom) if isinstance(atom, Operation) else _bound(atom, whole))

    def _operation(self, operation: Operation) -> Any:
        values = [*self._ranges.of(operation.left), *self._ranges.of(operation.right)]
        values += self._ranges.of_atom(operation)
        kind = kind_for((min(values), max(values)))
        if operation.name not in _DIVISIONS:
            operands = [self._operand(side, kind) for side in (operation.left, operation.right)]
            return emit(_OPERATIONS[operation.name], operands, kind)
        if min(values) < 0:
            left, right = (self._operand(side, kind) for side in (operation.left, operation.right))
            return _DIVISIONS[operation.name](left, right)
        return self._unsigned(operation, _UNSIGNED[kind]).to(kind)

    def _unsigned(self, operation: Operation, kind: type[Numeric]) -> Any:
        """Numbers that are never negative divide in one instruction. Nothing has a coordinate in an empty layout."""
        left, right = (self._operand(side, kind) for side in (operation.left, operation.right))
        if self._ranges.of(operation.right)[0] < 1:
            right = self._once(("above zero", operation.right, kind), lambda: _above_zero(right))
        return emit(_UNSIGNED_DIVISIONS[operation.name], [left, right], kind, [_NO_SIGN])

    def _operand(self, value: Int, kind: type[Numeric]) -> Any:
        number = self.integer(value)
        return number if isinstance(number, int) else number.to(kind)


def _above_zero(extent: Numeric) -> Numeric:
    """The same number, once it has been checked."""
    trace = active()
    assert trace is not None, "symbols are emitted into a trace"
    divisor = checked_divisor(
        trace,
        extent.info,
        extent.ir_value(),
        "a coordinate in an empty layout: integer division or modulo by zero",
        found="an extent of 0",
        expected="an extent of 1 or more where a number becomes a coordinate",
    )
    return type(extent).of(divisor, trace.region)


def _factors(monomial: Monomial, coefficient: int) -> tuple[tuple[Factor, ...], int]:
    """A coefficient that a declared divisor divides takes the whole number: 8*(n/4) is 2*n."""
    factors: list[Factor] = []
    for atom in monomial:
        whole = isinstance(atom, Symbol) and coefficient % atom.divisor == 0
        if isinstance(atom, Symbol) and whole:
            coefficient //= atom.divisor
        factors.append((atom, whole))
    return tuple(factors), coefficient


def _bound(symbol: Symbol, whole: bool) -> Any:
    if not isinstance(symbol, TracedSymbol):
        raise UndecidableError(
            f"the unknown {symbol.name} has no run-time value",
            found=str(symbol),
            expected="unknowns that were made from run-time numbers",
            instead="traced_int(n) of a run-time number n",
        )
    kind = kind_for(symbol.values)
    number = symbol.number.to(kind)
    if whole or symbol.divisor == 1:
        return number
    divided = kind if symbol.values[0] < 0 else _UNSIGNED[kind]
    return (number.to(divided) // symbol.divisor).to(kind)


def range_of(value: Int) -> Range:
    """The smallest and the largest number that an integer may be."""
    return Ranges(_symbol_range).of(value)


def _symbol_range(symbol: Symbol) -> Range:
    low, high = symbol.values if isinstance(symbol, TracedSymbol) else Int64.info.bounds
    return -(-low // symbol.divisor), high // symbol.divisor
