"""Register parts of a thread's vector: one number of 32 bits or more each, or a few narrower ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triptych.ir.builder import Builder
from triptych.ir.handles import Context, Operation, Type, Value
from triptych.ir.types import bit_width, count_and_element, int_width, lanes

REGISTER_BITS = 32
_NO_NUMBER = 1
"""Bits of a condition: it is in a predicate register by itself."""


class Number(NamedTuple):
    """An element of a vector: a value by itself, or the one at a place of a value that holds a few."""

    value: Value
    place: int | None = None


def is_large(type_: Type) -> bool:
    """Whether a vector needs more than a register."""
    return (lanes(type_) or 0) > 1 and (bit_width(type_) or 0) > REGISTER_BITS


def in_a_register(elements: Sequence[Type]) -> int:
    """How many numbers of the narrowest of these types a register holds."""
    widths = [width for width in map(_width, elements) if width > _NO_NUMBER]
    return max(1, REGISTER_BITS // min(widths, default=REGISTER_BITS))


def _width(element: Type) -> int:
    return int_width(element) or bit_width(element) or REGISTER_BITS


class RegisterParts:
    """Which numbers vectors consist of, and how those are joined again, in front of an operation."""

    def __init__(self, context: Context) -> None:
        self.builder = Builder(context)
        self._known: dict[Value, Sequence[Number]] = {}

    def __contains__(self, vector: Value) -> bool:
        return vector in self._known

    def at(self, operation: Operation) -> None:
        """From now on build in front of an operation, at its place in the source."""
        self.builder.insertion = self.builder.before(operation)
        self.location = operation.location

    def keep(self, vector: Value, numbers: Sequence[Number]) -> None:
        """Say what a vector consists of."""
        self._known[vector] = numbers

    def of(self, vector: Value) -> Sequence[Number]:
        """The elements of any vector."""
        return self._known.get(vector) or [Number(vector, i) for i in range(lanes(vector.type) or 0)]

    def held(self, register: Value) -> list[Number]:
        """The elements of a value that was made for a register. Those that fill one each are taken out at once."""
        found = count_and_element(register.type)
        if found is None:
            return [Number(register)]
        count, element = found
        numbers = [Number(register, i) for i in range(count)]
        return [Number(self.number(n, element)) for n in numbers] if _width(element) >= REGISTER_BITS else numbers

    def number(self, number: Number, element: Type) -> Value:
        """An element by itself."""
        if number.place is None:
            return number.value
        place = {"static_position": self.builder.attribute(f"array<i64: {number.place}>")}
        return self.builder.value("vector.extract", (number.value,), element, place, location=self.location)

    def joined(self, numbers: Sequence[Number], element: Type) -> Value:
        """What is in one register: the only number, or a vector; the very value if it was made of them."""
        return self.number(numbers[0], element) if len(numbers) == 1 else self.whole(numbers, element)

    def whole(self, numbers: Sequence[Number], element: Type) -> Value:
        """A vector."""
        first = numbers[0].value
        if lanes(first.type) == len(numbers) and all(n == (first, i) for i, n in enumerate(numbers)):
            return first
        elements = [self.number(number, element) for number in numbers]
        kind = self.builder.vector(len(numbers), element)
        return self.builder.value("vector.from_elements", elements, kind, location=self.location)
