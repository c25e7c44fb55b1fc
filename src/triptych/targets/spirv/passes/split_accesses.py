"""Pass `split-accesses`: loads and stores of vectors that SPIR-V has no type for go number by number.

SPIR-V has vectors of 2, 3, 4, 8 and 16; of those of 3 OpenCL says that they take the room of 4.
"""

from __future__ import annotations

from collections.abc import Iterator

from triptych.ir.handles import Attribute, Module, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import byte_size, count_and_element

ACCESSES = frozenset({"llvm.load", "llvm.store"})
_LENGTHS = frozenset({2, 4, 8, 16})


def split_accesses(module: Module) -> None:
    """Of all kernels."""
    for kernel in kernels(module):
        replace_each(operations_named(kernel, "llvm.load"), _load)
        replace_each(operations_named(kernel, "llvm.store"), _store)


def _load(op: Replacement) -> list[Value] | None:
    result = op.operation.results[0]
    found = count_and_element(result.type)
    if found is None or found[0] in _LENGTHS:
        return None
    numbers = [
        op.value("llvm.load", (address,), found[1], access) for address, access in _places(op, op.operands[0], result)
    ]
    return [op.value("vector.from_elements", numbers, result.type)]


def _store(op: Replacement) -> list[Value] | None:
    vector, pointer = op.operands
    found = count_and_element(vector.type)
    if found is None or found[0] in _LENGTHS:
        return None
    for place, (address, access) in enumerate(_places(op, pointer, vector)):
        op.effect("llvm.store", (op.element(vector, place, found[1]), address), access)
    return []


def _places(op: Replacement, pointer: Value, vector: Value) -> Iterator[tuple[Value, dict[str, Attribute]]]:
    """The address of each number, and the attributes of its access."""
    builder, attributes = op.builder, op.operation.attributes
    count, element = count_and_element(vector.type) or (1, vector.type)
    known = attributes["alignment"].value if "alignment" in attributes else byte_size(element)
    others = {name: attributes[name] for name in attributes if name != "alignment"}
    for place in range(count):
        offset = place * byte_size(element)
        index = {
            "elem_type": builder.type_attribute(element),
            "rawConstantIndices": builder.attribute(f"array<i32: {place}>"),
        }
        address = builder.value("llvm.getelementptr", (pointer,), pointer.type, index)
        aligned = min(known, offset & -offset) if offset else known
        yield address, {**others, "alignment": builder.integer("i64", aligned)}
