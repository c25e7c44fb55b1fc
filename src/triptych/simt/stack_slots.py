"""The private array that an address lies in, as far as the offsets from its start are known before a run."""

from __future__ import annotations

from dataclasses import dataclass

from triptych.ir.handles import Operation, Value
from triptych.ir.types import byte_size
from triptych.simt.operations import defining_op, element_indices, producer


@dataclass(frozen=True, slots=True)
class PrivatePlace:
    """An address `offset` bytes after the start of an array that every thread has for itself."""

    array: Value
    offset: int

    @property
    def element_bytes(self) -> int:
        """Of an element of the array."""
        return _element_bytes(producer(self.array))

    @property
    def bytes_left(self) -> int:
        """From the address to the end of the array."""
        count = int(producer(producer(self.array).operands[0]).attributes["value"].value)
        return count * self.element_bytes - self.offset


def is_private(operation: Operation | None) -> bool:
    """Whether an operation makes an array that every thread has for itself, or an address in one."""
    while operation is not None and operation.name == "llvm.getelementptr":
        operation = defining_op(operation.operands[0])
    return operation is not None and operation.name == "llvm.alloca"


def private_place(address: Value) -> PrivatePlace | None:
    """Where an address lies that was made from an array by offsets which are all known."""
    offset = 0
    operation = defining_op(address)
    while operation is not None and operation.name == "llvm.getelementptr":
        match element_indices(operation):
            case [int() as index]:
                offset += index * _element_bytes(operation)
            case _:
                return None
        address = operation.operands[0]
        operation = defining_op(address)
    return PrivatePlace(address, offset) if operation is not None and operation.name == "llvm.alloca" else None


def _element_bytes(operation: Operation) -> int:
    return byte_size(operation.attributes["elem_type"].value)
