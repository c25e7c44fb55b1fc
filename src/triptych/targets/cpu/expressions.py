"""Arithmetic of MLIR values written with Python's operators, for passes that replace operations by formulas.

A formula reads the same for one scalar and for every element of a vector: `Expression` knows its element type and how
many elements it has, and Python numbers beside it become constants of its type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from triptych.ir.builder import Builder

_EQUAL, _SIGNED_BELOW, _SIGNED_ABOVE = 0, 2, 4
_ORDERED_NOT_EQUAL = 6


def vector_type(element: str, lanes: int | None) -> str:
    """The type of `lanes` elements, or of one scalar."""
    return element if lanes is None else f"vector<{lanes}x{element}>"


def element_and_lanes(text: str) -> tuple[str, int | None]:
    """The other way round. Types that are neither come back whole."""
    count, separator, element = text.removeprefix("vector<").removesuffix(">").partition("x")
    return (element, int(count)) if separator and count.isdigit() else (text, None)


def bit_width(element: str) -> int:
    """The bits of a scalar type whose name says them, as `i8`, `f32` and `bf16` do."""
    return int(element.lstrip("bfi"))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a formula is built: the builder, standing before the operation that is replaced, and its location."""

    builder: Builder
    location: Any

    def type(self, element: str, lanes: int | None) -> Any:
        return self.builder.type(vector_type(element, lanes))

    def constant(self, value: int | float, element: str, lanes: int | None) -> Expression:
        """A number in every element."""
        builder = self.builder
        if element.startswith("i"):
            number = builder.integer(element, int(value))
        else:
            number = builder.float(element, float(value))
        kind = self.type(element, lanes)
        attribute = number if lanes is None else builder.splat(kind, number)
        return Expression(
            self, builder.value("arith.constant", (), kind, self.location, {"value": attribute}), element, lanes
        )


@dataclass(frozen=True, slots=True)
class Expression:
    """A value at a place. Comparisons are methods, because `==` of a data class compares Python objects."""

    place: Place
    value: Any
    element: str
    lanes: int | None = None
    """How many elements a vector has; None for a scalar."""

    def __add__(self, other: Expression | int | float) -> Expression:
        return self._binary("addf" if self._is_float else "addi", other)

    def __sub__(self, other: Expression | int | float) -> Expression:
        return self._binary("subf" if self._is_float else "subi", other)

    def __mul__(self, other: Expression | int | float) -> Expression:
        return self._binary("mulf" if self._is_float else "muli", other)

    def __and__(self, other: Expression | int) -> Expression:
        return self._binary("andi", other)

    def __or__(self, other: Expression | int) -> Expression:
        return self._binary("ori", other)

    def __lshift__(self, count: int) -> Expression:
        return self._binary("shli", count) if count else self

    def __rshift__(self, count: int) -> Expression:
        """Zeros come in from the left."""
        return self._binary("shrui", count) if count else self

    def shifted_right_signed(self, count: int) -> Expression:
        """The sign comes in from the left."""
        return self._binary("shrsi", count) if count else self

    # comparisons ------------------------------------------------------------------------------------------------
    def equals(self, other: Expression | int) -> Expression:
        return self._compare("cmpi", _EQUAL, other)

    def below(self, other: Expression | int) -> Expression:
        """Signed."""
        return self._compare("cmpi", _SIGNED_BELOW, other)

    def above(self, other: Expression | int) -> Expression:
        """Signed."""
        return self._compare("cmpi", _SIGNED_ABOVE, other)

    def differs(self, other: Expression) -> Expression:
        """Of floats: neither is NaN and they are not equal."""
        return self._compare("cmpf", _ORDERED_NOT_EQUAL, other)

    def choose(self, then: Expression | int | float, otherwise: Expression) -> Expression:
        """Of truth values: `then` where true."""
        chosen = otherwise._lift(then)
        return otherwise._emit("arith.select", (self.value, chosen.value, otherwise.value), otherwise.element)

    # conversions ------------------------------------------------------------------------------------------------
    def convert(self, operation: str, element: str) -> Expression:
        """One of the conversions of `arith`, by name; nothing when the type is there already."""
        if element == self.element:
            return self
        return self._emit(f"arith.{operation}", (self.value,), element)

    def bits(self) -> Expression:
        """The bit pattern of a float as an integer."""
        return self.convert("bitcast", f"i{self.width}")

    def recast(self, element: str, lanes: int) -> Expression:
        """The bits of a vector as other elements."""
        if (element, lanes) == (self.element, self.lanes):
            return self
        return self._make("vector.bitcast", (self.value,), element, lanes)

    # elements of vectors ----------------------------------------------------------------------------------------
    def pick(self, positions: Sequence[int]) -> Expression:
        """The elements at `positions`."""
        if list(positions) == list(range(self.lanes or 0)):
            return self
        return self._shuffle(self, positions)

    def join(self, other: Expression) -> Expression:
        """The elements of both, one vector after the other."""
        assert self.lanes is not None
        assert other.lanes is not None
        return self._shuffle(other, range(self.lanes + other.lanes))

    def _shuffle(self, other: Expression, positions: Sequence[int]) -> Expression:
        mask = {"mask": self.place.builder.attribute(f"array<i64: {', '.join(map(str, positions))}>")}
        return self._make("vector.shuffle", (self.value, other.value), self.element, len(positions), mask)

    # building ---------------------------------------------------------------------------------------------------
    @property
    def width(self) -> int:
        """The bits of one element."""
        return bit_width(self.element)

    @property
    def _is_float(self) -> bool:
        return not self.element.startswith("i")

    def _lift(self, other: Expression | int | float) -> Expression:
        if isinstance(other, Expression):
            return other
        return self.place.constant(other, self.element, self.lanes)

    def _binary(self, operation: str, other: Expression | int | float) -> Expression:
        return self._emit(f"arith.{operation}", (self.value, self._lift(other).value), self.element)

    def _compare(self, operation: str, predicate: int, other: Expression | int) -> Expression:
        attributes = {"predicate": self.place.builder.integer("i64", predicate)}
        return self._emit(f"arith.{operation}", (self.value, self._lift(other).value), "i1", attributes)

    def _emit(self, name: str, operands: tuple[Any, ...], element: str, attributes: Any = None) -> Expression:
        return self._make(name, operands, element, self.lanes, attributes)

    def _make(
        self, name: str, operands: tuple[Any, ...], element: str, lanes: int | None, attributes: Any = None
    ) -> Expression:
        place = self.place
        value = place.builder.value(name, operands, place.type(element, lanes), place.location, attributes)
        return Expression(place, value, element, lanes)
