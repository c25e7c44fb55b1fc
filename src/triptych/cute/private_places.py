"""Meta-stage, registers: the private array that an address lies in, as far as it is known while tracing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from triptych.simt.operations import element_indices, element_size


@dataclass(frozen=True, slots=True)
class PrivatePlace:
    """An address `offset` bytes after the start of an array that every thread has for itself."""

    array: Any
    offset: int

    @property
    def element_bytes(self) -> int:
        """Of an element of the array."""
        return _element_bytes(self.array.owner.operation)

    @property
    def bytes_left(self) -> int:
        """From the address to the end of the array."""
        count = int(self.array.owner.operation.operands[0].owner.attributes["value"].value)
        return count * self.element_bytes - self.offset


def private_place(address: Any) -> PrivatePlace | None:
    """Where an address lies that was made from an array by offsets which are all known."""
    offset = 0
    while hasattr(address.owner, "operation"):  # what is an argument of a block has no known place
        operation = address.owner.operation
        if operation.name == "llvm.alloca":
            return PrivatePlace(address, offset)
        index = element_indices(operation)[0] if operation.name == "llvm.getelementptr" else None
        if index is None:
            return None
        offset += index * _element_bytes(operation)
        address = operation.operands[0]
    return None


def _element_bytes(operation: Any) -> int:
    return element_size(str(operation.attributes["elem_type"].value))
