"""Pass `split-private-accesses`: what a thread moves within its own registers moves register by register.

LLVM takes a private array apart where it is accessed, so one access to all of a large array would keep it whole: a
vector of a hundred numbers, into which every single one is then inserted. Its time is the square of their number.
"""

from __future__ import annotations

from triptych.ir.handles import Attribute, Module, Type, Value
from triptych.ir.modules import operations_named
from triptych.ir.rewriting import Replacement, replace_each
from triptych.ir.types import byte_size, count_and_element
from triptych.simt.stack_slots import private_place
from triptych.targets.nvptx.analysis.kernels import kernels
from triptych.targets.nvptx.analysis.memory_types import bits_of

_REGISTER_BYTES = 4
_PRIVATE = "!llvm.ptr"
_POINTERS = {"llvm.load": 0, "llvm.store": 1}


def split_private_accesses(module: Module) -> None:
    """Split every vector of more than a register that is loaded from, or stored to, a constant place of an array."""
    accesses = [operation for kernel in kernels(module) for operation in operations_named(kernel, *_POINTERS)]
    replace_each(accesses, _parts)


def _parts(op: Replacement) -> list[Value] | None:
    name = op.operation.name
    vector = _vector(op.operands[0] if name == "llvm.store" else op.operation.results[0])
    if vector is None or vector[0] * byte_size(vector[1]) <= _REGISTER_BYTES:
        return None
    pointer = op.operands[_POINTERS[name]]
    return None if private_place(pointer) is None else _Split(op, pointer, *vector).write()


def _vector(value: Value) -> tuple[int, Type] | None:
    """How many elements of which type a vector has."""
    return count_and_element(value.type) if bits_of(value.type) else None


class _Split:
    """Builds the parts of one access in front of it."""

    def __init__(self, op: Replacement, pointer: Value, count: int, element: Type) -> None:
        self._op, self._pointer = op, pointer
        self._count, self._element = count, element
        self._together = min(count, max(1, _REGISTER_BYTES // byte_size(element)))

    def write(self) -> list[Value]:
        """Load the parts and join them, or take the value apart and store them."""
        starts = range(0, self._count, self._together)
        if self._op.operation.name == "llvm.load":
            elements = [element for start in starts for element in self._load(start)]
            whole = self._op.builder.vector(self._count, self._element)
            return [self._op.value("vector.from_elements", elements, whole)]
        for start in starts:
            self._store(start)
        return []

    def _load(self, start: int) -> list[Value]:
        width = min(self._together, self._count - start)
        part = self._op.value("llvm.load", (self._address(start),), self._type(width), self._memory(start))
        return [part] if width == 1 else [self._op.element(part, i, self._element) for i in range(width)]

    def _store(self, start: int) -> None:
        width = min(self._together, self._count - start)
        elements = [self._op.element(self._op.operands[0], start + i, self._element) for i in range(width)]
        part = elements[0] if width == 1 else self._op.value("vector.from_elements", elements, self._type(width))
        self._op.effect("llvm.store", (part, self._address(start)), self._memory(start))

    def _type(self, width: int) -> Type:
        return self._element if width == 1 else self._op.builder.vector(width, self._element)

    def _memory(self, start: int) -> dict[str, Attribute]:
        attributes, builder = self._op.operation.attributes, self._op.builder
        known = attributes["alignment"].value if "alignment" in attributes else 1
        place = start * byte_size(self._element)
        return {
            "alignment": builder.integer("i64", min(known, place & -place) if place else known),
            "ordering": builder.integer("i64", 0),
        }

    def _address(self, start: int) -> Value:
        if start == 0:
            return self._pointer
        attributes = {
            "elem_type": self._op.builder.type_attribute(self._element),
            "rawConstantIndices": self._op.attribute(f"array<i32: {start}>"),
        }
        return self._op.value("llvm.getelementptr", (self._pointer,), _PRIVATE, attributes)
