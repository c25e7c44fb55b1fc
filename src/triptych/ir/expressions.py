"""Arithmetic of MLIR values written with Python's operators, for passes that replace operations by formulas.

A formula reads the same for one scalar and for every element of a vector: `Expression` knows its element type and how
many elements it has, and Python numbers beside it become constants of its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Type, Value
from triptych.ir.types import count_and_element, type_text
from triptych.support.dataclass import dataclass

_SIGNED = {"==": 0, "<": 2, "<=": 3, ">": 4, ">=": 5}
_ORDERED = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5}
_ORDERED_AND_UNEQUAL, _UNEQUAL_OR_NAN = 6, 13


def vector_type(element: str, lanes: int | None) -> str:
    """The type of `lanes` elements, or of one scalar."""
    return element if lanes is None else f"vector<{lanes}x{element}>"


def element_and_lanes(type_: Type) -> tuple[str, int | None]:
    """The other way round: the name of the element type, and how many there are in a vector."""
    found = count_and_element(type_)
    return (type_text(type_), None) if found is None else (type_text(found[1]), found[0])


def bit_width(element: str) -> int:
    """The bits of a scalar type whose name says them, as `i8`, `f32` and `bf16` do."""
    return int(element.lstrip("bfi"))


def constant(builder: Builder, number: float, element: str, lanes: int | None) -> Expression:
    """A number in every element."""
    if element.startswith("i"):
        attribute = builder.integer(element, int(number))
    else:
        attribute = builder.float(element, float(number))
    kind = builder.type(vector_type(element, lanes))
    if lanes is not None:
        attribute = builder.splat(kind, attribute)
    return Expression(builder, builder.value("arith.constant", (), kind, {"value": attribute}), element, lanes)


def gather(elements: Sequence[Expression]) -> Expression:
    """A vector of scalars."""
    builder, element, lanes = elements[0].builder, elements[0].element, len(elements)
    values = [each.value for each in elements]
    return Expression(
        builder, builder.value("vector.from_elements", values, vector_type(element, lanes)), element, lanes
    )


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A view of a value: a number, a truth value (`i1`), or a vector of them. What is computed of it is built where its
    builder stands."""

    builder: Builder
    value: Value
    element: str
    lanes: int | None = None
    """How many elements a vector has; None for a scalar."""

    # arithmetic -------------------------------------------------------------------------------------------------
    def __add__(self, other: Operand) -> Expression:
        return self._arithmetic("add", self, other)

    def __radd__(self, other: float) -> Expression:
        return self._arithmetic("add", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return self._arithmetic("sub", self, other)

    def __rsub__(self, other: float) -> Expression:
        return self._arithmetic("sub", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return self._arithmetic("mul", self, other)

    def __rmul__(self, other: float) -> Expression:
        return self._arithmetic("mul", other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return self._arithmetic("div", self, other)

    def __rtruediv__(self, other: float) -> Expression:
        return self._arithmetic("div", other, self)

    def __neg__(self) -> Expression:
        return self.emit("arith.negf", self) if self._is_float else 0 - self

    def __abs__(self) -> Expression:
        return self.emit("math.absf", self)

    def applied(self, name: str) -> Expression:
        """The operation `math.<name>`, which the machine has."""
        return self.emit(f"math.{name}", self)

    # bits -------------------------------------------------------------------------------------------------------
    def __and__(self, other: Operand) -> Expression:
        return self.emit("arith.andi", self, other)

    def __or__(self, other: Operand) -> Expression:
        return self.emit("arith.ori", self, other)

    def __xor__(self, other: Operand) -> Expression:
        return self.emit("arith.xori", self, other)

    def __invert__(self) -> Expression:
        return self.emit("arith.xori", self, -1)

    def __lshift__(self, count: Operand) -> Expression:
        return self._shifted("arith.shli", count)

    def __rshift__(self, count: Operand) -> Expression:
        """Zeros come in from the left."""
        return self._shifted("arith.shrui", count)

    def shifted_right_signed(self, count: Operand) -> Expression:
        """The sign comes in from the left."""
        return self._shifted("arith.shrsi", count)

    # comparisons: signed, and false for NaN ---------------------------------------------------------------------
    def __lt__(self, other: Operand) -> Expression:
        return self._compared("<", other)

    def __le__(self, other: Operand) -> Expression:
        return self._compared("<=", other)

    def __gt__(self, other: Operand) -> Expression:
        return self._compared(">", other)

    def __ge__(self, other: Operand) -> Expression:
        return self._compared(">=", other)

    def equals(self, other: Operand) -> Expression:
        return self._compared("==", other)

    def differs(self, other: Operand) -> Expression:
        """Of floats: they are not equal; NaN differs from everything."""
        return self._predicate("arith.cmpf", _UNEQUAL_OR_NAN, other)

    def lies_beside(self, other: Operand) -> Expression:
        """Of floats: neither is NaN and they are not equal."""
        return self._predicate("arith.cmpf", _ORDERED_AND_UNEQUAL, other)

    # conversions ------------------------------------------------------------------------------------------------
    def convert(self, operation: str, element: str) -> Expression:
        """The same numbers, by one of the conversions of `arith`; nothing when the type is there already."""
        if element == self.element:
            return self
        return self._make(f"arith.{operation}", (self.value,), element, self.lanes)

    def bits_as(self, element: str) -> Expression:
        """The same bits under another type."""
        return self.convert("bitcast", element)

    def bits(self) -> Expression:
        """The bit pattern of a float as an integer."""
        return self.bits_as(f"i{self.width}")

    def recast(self, element: str, lanes: int) -> Expression:
        """The bits of a vector as other elements."""
        if (element, lanes) == (self.element, self.lanes):
            return self
        return self._make("vector.bitcast", (self.value,), element, lanes)

    def filled(self, number: float) -> Expression:
        """A constant of this type."""
        return constant(self.builder, number, self.element, self.lanes)

    # elements of vectors ----------------------------------------------------------------------------------------
    def pick(self, positions: Sequence[int]) -> Expression:
        """The elements at `positions`."""
        if list(positions) == list(range(self.lanes or 0)):
            return self
        return self._shuffle(self, positions)

    def join(self, other: Expression) -> Expression:
        """The elements of both, one vector after the other."""
        assert self.lanes is not None, "vectors are joined"
        assert other.lanes is not None, "vectors are joined"
        return self._shuffle(other, range(self.lanes + other.lanes))

    def _shuffle(self, other: Expression, positions: Sequence[int]) -> Expression:
        mask = {"mask": self.builder.integers(positions)}
        return self._make("vector.shuffle", (self.value, other.value), self.element, len(positions), mask)

    def at(self, position: int) -> Expression:
        """One element."""
        where = {"static_position": self.builder.attribute(f"array<i64: {position}>")}
        return self._make("vector.extract", (self.value,), self.element, None, where)

    def each(self) -> list[Expression]:
        """Every element; of a scalar, itself."""
        return [self] if self.lanes is None else [self.at(i) for i in range(self.lanes)]

    # building ---------------------------------------------------------------------------------------------------
    @property
    def width(self) -> int:
        """The bits of one element."""
        return bit_width(self.element)

    @property
    def _is_float(self) -> bool:
        return not self.element.startswith("i")

    def emit(self, name: str, *operands: Operand) -> Expression:
        """An operation whose operands and result have this type."""
        return self._make(name, [self.value_of(operand) for operand in operands], self.element, self.lanes)

    def value_of(self, operand: Operand) -> Value:
        """The MLIR value of an operand beside this expression."""
        return operand.value if isinstance(operand, Expression) else self.filled(operand).value

    def _arithmetic(self, name: str, left: Operand, right: Operand) -> Expression:
        return self.emit(f"arith.{name}{'f' if self._is_float else 'i'}", left, right)

    def _shifted(self, name: str, count: Operand) -> Expression:
        return self if isinstance(count, int) and count == 0 else self.emit(name, self, count)

    def _compared(self, sign: str, other: Operand) -> Expression:
        if self._is_float:
            return self._predicate("arith.cmpf", _ORDERED[sign], other)
        return self._predicate("arith.cmpi", _SIGNED[sign], other)

    def _predicate(self, name: str, predicate: int, other: Operand) -> Expression:
        attributes = {"predicate": self.builder.integer("i64", predicate)}
        return self._make(name, (self.value, self.value_of(other)), "i1", self.lanes, attributes)

    def _make(
        self,
        name: str,
        operands: Sequence[Value],
        element: str,
        lanes: int | None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Expression:
        value = self.builder.value(name, operands, vector_type(element, lanes), attributes)
        return Expression(self.builder, value, element, lanes)


Operand = Expression | float


def select(condition: Expression, chosen: Operand, otherwise: Operand) -> Expression:
    """`chosen` where the condition holds. At least one of the two is not a number."""
    like = chosen if isinstance(chosen, Expression) else otherwise
    assert isinstance(like, Expression), "one of the two is no Python number"
    return like.emit("arith.select", condition, chosen, otherwise)
