"""Vector arithmetic written as Python expressions: each operator on `Lanes` builds one `arith` or `math` operation.

Input: a vector value and the place where operations go. Output: vector values of the same number of lanes. Formulas
then read like formulas. Numbers become constants with that number in every lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder

_ORDERED = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5}
_SIGNED = {"==": 0, "<": 2, "<=": 3, ">": 4, ">=": 5}
_NOT_EQUAL_OR_NAN = 13


class Emitter:
    """Builds operations on vectors of `count` lanes at the builder's insertion point, all at one location."""

    def __init__(self, builder: Builder, module: Any, count: int, location: Any) -> None:
        self.builder = builder
        self.module = module
        self.count = count
        self.location = location

    def type(self, element: str) -> Any:
        """The type of a vector of such elements."""
        return self.builder.type(f"vector<{self.count}x{element}>")

    def lanes(
        self, element: str, name: str, operands: Sequence[Any], attributes: Mapping[str, Any] | None = None
    ) -> Lanes:
        """The result of one operation."""
        value = self.builder.value(name, operands, self.type(element), self.location, attributes)
        return Lanes(value, element, self)

    def constant(self, element: str, number: float) -> Lanes:
        """The number in every lane."""
        scalar = (
            self.builder.float(element, number) if _is_float(element) else self.builder.integer(element, int(number))
        )
        splat = bindings.mlir().DenseElementsAttr.get_splat(self.type(element), scalar)
        return self.lanes(element, "arith.constant", (), {"value": splat})


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """One vector value of floats, integers or (`i1`) conditions."""

    value: Any
    element: str
    emitter: Emitter

    # arithmetic -------------------------------------------------------------------------------------------------
    def __add__(self, other: Operand) -> Lanes:
        return self._binary("add", self, other)

    def __radd__(self, other: float) -> Lanes:
        return self._binary("add", other, self)

    def __sub__(self, other: Operand) -> Lanes:
        return self._binary("sub", self, other)

    def __rsub__(self, other: float) -> Lanes:
        return self._binary("sub", other, self)

    def __mul__(self, other: Operand) -> Lanes:
        return self._binary("mul", self, other)

    def __rmul__(self, other: float) -> Lanes:
        return self._binary("mul", other, self)

    def __truediv__(self, other: Operand) -> Lanes:
        return self._binary("div", self, other)

    def __rtruediv__(self, other: float) -> Lanes:
        return self._binary("div", other, self)

    def __neg__(self) -> Lanes:
        return self._same("arith.negf") if _is_float(self.element) else 0 - self

    def __abs__(self) -> Lanes:
        return self._same("math.absf")

    # bits -------------------------------------------------------------------------------------------------------
    def __and__(self, other: Operand) -> Lanes:
        return self._same("arith.andi", other)

    def __or__(self, other: Operand) -> Lanes:
        return self._same("arith.ori", other)

    def __xor__(self, other: Operand) -> Lanes:
        return self._same("arith.xori", other)

    def __invert__(self) -> Lanes:
        return self._same("arith.xori", -1)

    def __lshift__(self, other: Operand) -> Lanes:
        return self._same("arith.shli", other)

    def __rshift__(self, other: Operand) -> Lanes:
        """Shift right, the sign moving in."""
        return self._same("arith.shrsi", other)

    def shifted_right(self, other: Operand) -> Lanes:
        """Shift right, zeros moving in."""
        return self._same("arith.shrui", other)

    # conditions -------------------------------------------------------------------------------------------------
    def __lt__(self, other: Operand) -> Lanes:
        return self._compared("<", other)

    def __le__(self, other: Operand) -> Lanes:
        return self._compared("<=", other)

    def __gt__(self, other: Operand) -> Lanes:
        return self._compared(">", other)

    def __ge__(self, other: Operand) -> Lanes:
        return self._compared(">=", other)

    def equals(self, other: Operand) -> Lanes:
        return self._compared("==", other)

    def differs(self, other: Operand) -> Lanes:
        """Floats that are not equal; NaN differs from everything."""
        return self._predicate("arith.cmpf", _NOT_EQUAL_OR_NAN, other)

    # conversions ------------------------------------------------------------------------------------------------
    def bits_as(self, element: str) -> Lanes:
        """The same bits under another type."""
        return self.emitter.lanes(element, "arith.bitcast", (self.value,))

    def converted(self, name: str, element: str) -> Lanes:
        """The same numbers in another type, by the conversion `arith.<name>`."""
        return self.emitter.lanes(element, f"arith.{name}", (self.value,))

    def filled(self, number: float) -> Lanes:
        """A constant of this type."""
        return self.emitter.constant(self.element, number)

    def applied(self, name: str) -> Lanes:
        """The operation `math.<name>`, which the machine has."""
        return self._same(f"math.{name}")

    def _binary(self, name: str, left: Operand, right: Operand) -> Lanes:
        suffix = "f" if _is_float(self.element) else "i"
        return self.emitter.lanes(self.element, f"arith.{name}{suffix}", (self._value(left), self._value(right)))

    def _same(self, name: str, *others: Operand) -> Lanes:
        return self.emitter.lanes(self.element, name, (self.value, *map(self._value, others)))

    def _compared(self, sign: str, other: Operand) -> Lanes:
        if _is_float(self.element):
            return self._predicate("arith.cmpf", _ORDERED[sign], other)
        return self._predicate("arith.cmpi", _SIGNED[sign], other)

    def _predicate(self, name: str, predicate: int, other: Operand) -> Lanes:
        attributes = {"predicate": self.emitter.builder.integer("i64", predicate)}
        return self.emitter.lanes("i1", name, (self.value, self._value(other)), attributes)

    def _value(self, operand: Operand) -> Any:
        return operand.value if isinstance(operand, Lanes) else self.filled(operand).value


Operand = Lanes | float


def fma(a: Operand, b: Operand, c: Operand) -> Lanes:
    """`a * b + c`, rounded once."""
    like = next(operand for operand in (a, b, c) if isinstance(operand, Lanes))
    return like.emitter.lanes(like.element, "math.fma", [like._value(operand) for operand in (a, b, c)])


def select(condition: Lanes, chosen: Operand, otherwise: Operand) -> Lanes:
    """`chosen` in the lanes where the condition holds. At least one of the two is not a number."""
    like = chosen if isinstance(chosen, Lanes) else otherwise
    assert isinstance(like, Lanes)
    operands = (condition.value, like._value(chosen), like._value(otherwise))
    return like.emitter.lanes(like.element, "arith.select", operands)


def clamp(x: Lanes, low: float, high: float) -> Lanes:
    """Between the bounds; NaN stays NaN, because it compares false."""
    return at_most(select(x < low, low, x), high)


def at_most(x: Lanes, high: float) -> Lanes:
    """Not above the bound; NaN stays NaN."""
    return select(x > high, high, x)


def copysign(magnitude: Operand, sign: Lanes) -> Lanes:
    """The magnitude with the sign of `sign`."""
    return sign.emitter.lanes(sign.element, "math.copysign", (sign._value(magnitude), sign.value))


def polynomial(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """By Horner's rule, the constant coefficient first."""
    *lower, highest = coefficients
    total = x.filled(highest)
    for coefficient in reversed(lower):
        total = fma(total, x, coefficient)
    return total


def _is_float(element: str) -> bool:
    return element[0] in "fb"
