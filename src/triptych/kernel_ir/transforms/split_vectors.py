"""Pass `split-vectors`: what a thread computes with vectors, it computes register by register.

A GPU has no registers of many numbers. LLVM takes vectors apart by itself, but inserts and extracts every element first
and compares those with one another: of a vector of 128 numbers that takes longer than the rest of a kernel. Here
vectors are names for lists of numbers. Private arrays are loaded and stored a register at a time, which lets LLVM keep
them in registers; shuffles, broadcasts and extracts choose numbers and leave nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Context, Module, Operation, Type, Value
from triptych.ir.modules import kernels
from triptych.ir.types import bit_width, bits_of, byte_size, count_and_element, int_width, lanes
from triptych.kernel_ir.analysis.addresses import private_place

# Register parts of a thread's vector: one number of 32 bits or more each, or a few narrower ones.
REGISTER_BITS = 32
_NO_NUMBER = 1
"""Bits of a condition: it is in a predicate register by itself."""


class VectorElement(NamedTuple):
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
        self._known: dict[Value, Sequence[VectorElement]] = {}

    def __contains__(self, vector: Value) -> bool:
        return vector in self._known

    def at(self, operation: Operation) -> None:
        """From now on build in front of an operation, at its place in the source."""
        self.builder.stand_before(operation)

    def keep(self, vector: Value, numbers: Sequence[VectorElement]) -> None:
        """Say what a vector consists of."""
        self._known[vector] = numbers

    def of(self, vector: Value) -> Sequence[VectorElement]:
        """The elements of any vector."""
        return self._known.get(vector) or [VectorElement(vector, i) for i in range(lanes(vector.type) or 0)]

    def held(self, register: Value) -> list[VectorElement]:
        """The elements of a value that was made for a register. Those that fill one each are taken out at once."""
        found = count_and_element(register.type)
        if found is None:
            return [VectorElement(register)]
        count, element = found
        numbers = [VectorElement(register, i) for i in range(count)]
        return (
            [VectorElement(self.number(n, element)) for n in numbers] if _width(element) >= REGISTER_BITS else numbers
        )

    def number(self, number: VectorElement, element: Type) -> Value:
        """An element by itself."""
        if number.place is None:
            return number.value
        place = {"static_position": self.builder.attribute(f"array<i64: {number.place}>")}
        return self.builder.value("vector.extract", (number.value,), element, place)

    def joined(self, numbers: Sequence[VectorElement], element: Type) -> Value:
        """What is in one register: the only number, or a vector; the very value if it was made of them."""
        return self.number(numbers[0], element) if len(numbers) == 1 else self.whole(numbers, element)

    def whole(self, numbers: Sequence[VectorElement], element: Type) -> Value:
        """A vector."""
        first = numbers[0].value
        if lanes(first.type) == len(numbers) and all(n == (first, i) for i, n in enumerate(numbers)):
            return first
        elements = [self.number(number, element) for number in numbers]
        kind = self.builder.vector(len(numbers), element)
        return self.builder.value("vector.from_elements", elements, kind)


_PRIVATE = "!llvm.ptr"
_ELEMENTWISE = ("arith.", "math.")


def split_vectors(module: Module) -> None:
    """Split every vector of more than a register that is not moved to, or from, memory of others."""
    for kernel in kernels(module):
        _Splitting(RegisterParts(module.context)).write(_of_interest(kernel))


def _of_interest(kernel: Operation) -> list[tuple[Operation, Callable[[_Splitting, Operation], bool]]]:
    """The operations that may be split, with how, in program order."""
    advance = bindings.mlir().WalkResult.ADVANCE
    found = []

    def visit(operation: Operation) -> object:
        name = operation.name
        rule = _RULES.get(name) or (_Splitting.compute if name.startswith(_ELEMENTWISE) else None)
        if rule is not None:
            found.append((operation.operation, rule))
        return advance

    kernel.walk(visit)
    return found


class _Splitting:
    """Goes through a kernel once. A rule says whether what it wrote stands for the operation."""

    def __init__(self, parts: RegisterParts) -> None:
        self._parts = parts

    def write(self, operations: Sequence[tuple[Operation, Callable[[_Splitting, Operation], bool]]]) -> None:
        """Write the parts of each operation in front of it, then drop those that nobody needs as a whole."""
        split = [operation for operation, rule in operations if rule(self, operation)]
        for operation in reversed(split):
            if not any(_is_used(result) for result in operation.results):
                operation.erase()
            elif operation.name not in _WHOLE:
                self._join(operation)

    def _join(self, operation: Operation) -> None:
        """Somebody needs all of it at once, as memory of others does."""
        self._parts.at(operation)
        result = operation.results[0]
        _, element = count_and_element(result.type) or (1, result.type)
        result.replace_all_uses_with(self._parts.whole(self._parts.of(result), element))
        operation.erase()

    # what chooses numbers ---------------------------------------------------------------------------------------
    def elements(self, operation: Operation) -> bool:
        return self._stands_for(operation, [VectorElement(value) for value in operation.operands])

    def broadcast(self, operation: Operation) -> bool:
        count, _ = count_and_element(operation.results[0].type) or (0, None)
        source = operation.operands[0]
        return count_and_element(source.type) is None and self._stands_for(operation, [VectorElement(source)] * count)

    def constant(self, operation: Operation) -> bool:
        result = operation.results[0]
        found = count_and_element(result.type)
        if found is None or not is_large(result.type):
            return False
        number = self._parts.builder.splat_number(operation.attributes["value"])
        if number is None:
            return False
        self._parts.at(operation)
        made = self._parts.builder.value("arith.constant", (), found[1], {"value": number})
        return self._stands_for(operation, [VectorElement(made)] * found[0])

    def shuffle(self, operation: Operation) -> bool:
        sources = tuple(operation.operands)
        if not any(source in self._parts for source in sources):
            return False
        places = list(bindings.mlir().DenseI64ArrayAttr(operation.attributes["mask"]))
        if min(places) < 0:
            return False
        numbers = list(chain.from_iterable(map(self._parts.of, sources)))
        return self._stands_for(operation, [numbers[place] for place in places])

    def extract(self, operation: Operation) -> bool:
        source, result = operation.operands[0], operation.results[0]
        places = list(bindings.mlir().DenseI64ArrayAttr(operation.attributes["static_position"]))
        if source not in self._parts or len(operation.operands) > 1 or len(places) != 1:
            return False
        self._parts.at(operation)
        result.replace_all_uses_with(self._parts.number(self._parts.of(source)[places[0]], result.type))
        return True

    def _stands_for(self, operation: Operation, numbers: Sequence[VectorElement]) -> bool:
        """Numbers that a result consists of; a value that fills one register, or less, is needed at once."""
        result = operation.results[0]
        found = count_and_element(result.type)
        if found is None:
            return False
        if is_large(result.type) or found[0] == 1:
            self._parts.keep(result, numbers)
            return True
        if operation.name in _WHOLE:
            return False
        self._parts.at(operation)
        result.replace_all_uses_with(self._parts.joined(numbers, found[1]))
        return True

    # what computes ----------------------------------------------------------------------------------------------
    def compute(self, operation: Operation) -> bool:
        """An elementwise operation, on as many elements as a register holds of the narrowest type."""
        if len(operation.results) != 1:
            return False
        result, operands = operation.results[0], tuple(operation.operands)
        found = count_and_element(result.type)
        if found is None or not (is_large(result.type) or any(is_large(o.type) or o in self._parts for o in operands)):
            return False
        count, element = found
        types = [kind[1] for kind in map(count_and_element, (value.type for value in operands)) if kind is not None]
        together = in_a_register([element, *types])
        given = [self._parts.of(o) if count_and_element(o.type) else None for o in operands]
        self._parts.at(operation)
        attributes = {name: operation.attributes[name] for name in operation.attributes}
        numbers: list[VectorElement] = []
        for start in range(0, count, together):
            width = min(together, count - start)
            values = [
                whole if of is None else self._register(whole, of[start : start + width])
                for whole, of in zip(operands, given, strict=True)
            ]
            made = self._parts.builder.value(operation.name, values, self._type(width, element), attributes)
            numbers += self._parts.held(made)
        self._parts.keep(result, numbers)
        return True

    def _register(self, vector: Value, numbers: Sequence[VectorElement]) -> Value:
        _, element = count_and_element(vector.type) or (1, vector.type)
        return self._parts.joined(numbers, element)

    # what moves -------------------------------------------------------------------------------------------------
    def load(self, operation: Operation) -> bool:
        result, pointer = operation.results[0], operation.operands[0]
        if not _is_split_in_memory(result, pointer):
            return False
        count, element = count_and_element(result.type) or (1, result.type)
        self._parts.at(operation)
        numbers: list[VectorElement] = []
        for width, address, memory in self._places(operation, pointer, count, element):
            numbers += self._parts.held(
                self._parts.builder.value("llvm.load", (address,), self._type(width, element), memory)
            )
        self._parts.keep(result, numbers)
        return True

    def store(self, operation: Operation) -> bool:
        value, pointer = operation.operands
        if not _is_split_in_memory(value, pointer):
            return False
        count, element = count_and_element(value.type) or (1, value.type)
        numbers = iter(self._parts.of(value))
        self._parts.at(operation)
        for width, address, memory in self._places(operation, pointer, count, element):
            part = self._parts.joined(list(islice(numbers, width)), element)
            self._parts.builder.operation("llvm.store", (part, address), (), memory)
        return True

    def _places(
        self, operation: Operation, pointer: Value, count: int, element: Type
    ) -> Iterator[tuple[int, Value, dict[str, Attribute]]]:
        """For each register of a vector in memory: how many numbers, their address and the attributes of the access."""
        builder, attributes = self._parts.builder, operation.attributes
        known = attributes["alignment"].value if "alignment" in attributes else 1
        size, together, kind = byte_size(element), in_a_register([element]), builder.type(_PRIVATE)
        for start in range(0, count, together):
            place = start * size
            memory = {
                "alignment": builder.integer("i64", min(known, place & -place) if place else known),
                "ordering": builder.integer("i64", 0),
            }
            further = {
                "elem_type": builder.type_attribute(element),
                "rawConstantIndices": builder.attribute(f"array<i32: {start}>"),
            }
            address = self._parts.builder.value("llvm.getelementptr", (pointer,), kind, further) if start else pointer
            yield min(together, count - start), address, memory

    def _type(self, width: int, element: Type) -> Type:
        return element if width == 1 else self._parts.builder.vector(width, element)


def _is_split_in_memory(vector: Value, pointer: Value) -> bool:
    """Whether a vector of more than a register lies at a constant place of an array."""
    return is_large(vector.type) and bits_of(vector.type) > 0 and private_place(pointer) is not None


def _is_used(value: Value) -> bool:
    return next(iter(value.uses), None) is not None


_RULES: dict[str, Callable[[_Splitting, Operation], bool]] = {
    "llvm.load": _Splitting.load,
    "llvm.store": _Splitting.store,
    "vector.from_elements": _Splitting.elements,
    "vector.broadcast": _Splitting.broadcast,
    "vector.shuffle": _Splitting.shuffle,
    "vector.extract": _Splitting.extract,
    "arith.constant": _Splitting.constant,
}
_WHOLE = frozenset({"vector.from_elements", "vector.broadcast", "arith.constant"})
"""What already is the shortest way to write all of a vector."""
