"""Pass `split-private-accesses`: what a thread moves within its own registers moves register by register.

LLVM takes a private array apart where it is accessed, so one access to all of a large array would keep it whole: a
vector of a hundred numbers, into which every single one is then inserted. Its time is the square of their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.modules import operations_named
from triptych.simt.private_places import private_place
from triptych.targets.nvptx.kernels import kernels

_REGISTER_BYTES = 4
_BYTES = {"i8": 1, "i16": 2, "f16": 2, "bf16": 2, "i32": 4, "f32": 4, "i64": 8, "f64": 8}
_PRIVATE = "!llvm.ptr"
_POINTERS = {"llvm.load": 0, "llvm.store": 1}


def split_private_accesses(module: Any) -> None:
    """Split every vector of more than a register that is loaded from, or stored to, a constant place of an array."""
    builder = Builder(module.context)
    attribute = cache(builder.attribute)
    for kernel in kernels(module):
        for operation in operations_named(kernel, *_POINTERS):
            vector = _vector(operation.operands[0] if operation.name == "llvm.store" else operation.results[0])
            if vector is None or vector[0] * _BYTES[vector[1]] <= _REGISTER_BYTES:
                continue
            pointer = operation.operands[_POINTERS[operation.name]]
            if private_place(pointer) is not None:
                _Split(operation, pointer, *vector, builder, attribute).write()


def _vector(value: Any) -> tuple[int, str] | None:
    """How many elements of which type a vector has."""
    shape, _, element = str(value.type).removeprefix("vector<").removesuffix(">").partition("x")
    return (int(shape), element) if shape.isdigit() and element in _BYTES else None


class _Split:
    """Builds the parts of one access in front of it, and removes it."""

    def __init__(
        self,
        operation: Any,
        pointer: Any,
        count: int,
        element: str,
        builder: Builder,
        attribute: Callable[[str], Any],
    ) -> None:
        self._operation, self._pointer = operation, pointer
        self._count, self._element = count, element
        self._together = min(count, max(1, _REGISTER_BYTES // _BYTES[element]))
        self._builder, self._attribute = builder, attribute
        self._builder.insertion = bindings.mlir().InsertionPoint(operation)

    def write(self) -> None:
        """Load the parts and join them, or take the value apart and store them."""
        if self._operation.name == "llvm.load":
            elements = [element for start in self._starts() for element in self._load(start)]
            whole = self._value("vector.from_elements", elements, f"vector<{self._count}x{self._element}>")
            self._operation.results[0].replace_all_uses_with(whole)
        else:
            for start in self._starts():
                self._store(start)
        self._operation.erase()

    def _starts(self) -> range:
        return range(0, self._count, self._together)

    def _load(self, start: int) -> list[Any]:
        width = min(self._together, self._count - start)
        part = self._value("llvm.load", (self._address(start),), self._type(width), self._memory(start))
        return [part] if width == 1 else [self._extract(part, i) for i in range(width)]

    def _store(self, start: int) -> None:
        width = min(self._together, self._count - start)
        elements = [self._extract(self._operation.operands[0], start + i) for i in range(width)]
        part = elements[0] if width == 1 else self._value("vector.from_elements", elements, self._type(width))
        location = self._operation.location
        self._builder.operation("llvm.store", (part, self._address(start)), (), location, self._memory(start))

    def _type(self, width: int) -> str:
        return self._element if width == 1 else f"vector<{width}x{self._element}>"

    def _memory(self, start: int) -> dict[str, Any]:
        known = self._operation.attributes["alignment"].value if "alignment" in self._operation.attributes else 1
        place = start * _BYTES[self._element]
        return {
            "alignment": self._builder.integer("i64", min(known, place & -place) if place else known),
            "ordering": self._builder.integer("i64", 0),
        }

    def _address(self, start: int) -> Any:
        if start == 0:
            return self._pointer
        attributes = {
            "elem_type": self._builder.type_attribute(self._element),
            "rawConstantIndices": self._attribute(f"array<i32: {start}>"),
        }
        return self._value("llvm.getelementptr", (self._pointer,), _PRIVATE, attributes)

    def _extract(self, vector: Any, place: int) -> Any:
        position = {"static_position": self._attribute(f"array<i64: {place}>")}
        return self._value("vector.extract", (vector,), self._element, position)

    def _value(
        self, name: str, operands: Sequence[Any], result: str, attributes: Mapping[str, Any] | None = None
    ) -> Any:
        builder = self._builder
        return builder.value(name, operands, builder.type(result), self._operation.location, attributes)
