"""The private array that an address lies in, as far as the offsets from its start are known before a run."""

from __future__ import annotations

from dataclasses import dataclass

from triptych.ir.handles import Operation, Value
from triptych.ir.types import byte_size
from triptych.simt.addresses import base, steps
from triptych.simt.operations import defining_op, pointee, producer


@dataclass(frozen=True, slots=True)
class PrivatePlace:
    """An address `offset` bytes after the start of an array that every thread has for itself."""

    array: Value
    offset: int

    @property
    def element_bytes(self) -> int:
        """Of an element of the array."""
        return byte_size(pointee(producer(self.array)))

    @property
    def bytes_left(self) -> int:
        """From the address to the end of the array."""
        count = int(producer(producer(self.array).operands[0]).attributes["value"].value)
        return count * self.element_bytes - self.offset


def is_private(operation: Operation | None) -> bool:
    """Whether an operation makes an array that every thread has for itself, or an address in one."""
    return operation is not None and len(operation.results) == 1 and _is_array(base(operation.results[0]))


def private_place(address: Value) -> PrivatePlace | None:
    """Where an address lies that was made from an array by offsets which are all known."""
    array, found = steps(address)
    offsets = [step.index * step.size for step in found if isinstance(step.index, int)]
    return PrivatePlace(array, sum(offsets)) if _is_array(array) and len(offsets) == len(found) else None


def _is_array(value: Value) -> bool:
    made = defining_op(value)
    return made is not None and made.name == "llvm.alloca"
