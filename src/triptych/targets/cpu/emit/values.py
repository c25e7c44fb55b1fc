"""Value representations of a warp: a scalar of lane 0, a vector over the lanes, one for each element of an array."""

from __future__ import annotations

from typing import TypeAlias

from triptych.ir.handles import Operation, Type, Value
from triptych.ir.types import byte_size, element_type, generic_pointer, is_pointer
from triptych.kernel_ir.analysis.addresses import INDEXING, step
from triptych.kernel_ir.dialects.check import CHECK_ADDRESS, CHECK_STOP
from triptych.kernel_ir.dialects.kernel_operations import array_size, is_mma, pointee, producer, walk
from triptych.support.dataclass import dataclass


@dataclass(slots=True, eq=False)
class Scalar:
    """The value of lane 0; the other lanes differ by what the analysis knows."""

    value: Value


@dataclass(slots=True, eq=False)
class Vector:
    """One element for each lane."""

    value: Value


@dataclass(slots=True, eq=False)
class StructOfArrays:
    """A vector in every lane, element by element: one vector over the lanes for each."""

    rows: list[Value]


@dataclass(slots=True, eq=False)
class ArrayOfStructs:
    """A vector in every lane, lane by lane, as neighbouring lanes have it in memory."""

    value: Value
    count: int


@dataclass(slots=True, eq=False)
class StackSlot:
    """An address in an array that every thread has for itself: its element, an int plus perhaps a run-time part."""

    root: Value
    index: int
    dynamic: Scalar | Vector | None
    size: int
    """Bytes of an element."""


Emitted: TypeAlias = Scalar | Vector | StructOfArrays | ArrayOfStructs | StackSlot


def plain_pointer(kind: Type) -> Type:
    """A CPU has one address space."""
    return generic_pointer(kind.context) if is_pointer(kind) else kind


# Private arrays of threads (register tensors): which of them are used so that lanes can lie together.
#
# An array whose every access is one of whole elements is kept element by element, a vector over the lanes for each:
# such accesses are whole vectors and LLVM turns them into registers. Any other array stays lane by lane.


@dataclass(frozen=True, slots=True, eq=False)
class PrivateArray:
    """One `llvm.alloca` of a kernel."""

    operation: Operation
    element: Type
    count: int
    by_element: bool
    """Whether it is kept element by element."""

    @property
    def size(self) -> int:
        """Bytes for one thread."""
        return array_size(self.operation)


def private_arrays(kernel: Operation) -> dict[Value, PrivateArray]:
    """The arrays of a kernel by the value of their address."""
    return {operation.results[0]: _array(operation) for operation in walk(kernel) if operation.name == "llvm.alloca"}


def users(value: Value) -> list[tuple[Operation, int]]:
    """The operations that use a value, and as which operand."""
    return [(use.owner.operation, use.operand_number) for use in value.uses]


def _array(operation: Operation) -> PrivateArray:
    element = pointee(operation)
    count = int(producer(operation.operands[0]).attributes["value"].value)
    return PrivateArray(operation, element, count, _consistent(operation.results[0], byte_size(element)))


def _consistent(pointer: Value, size: int) -> bool:
    return all(_fits(user, number, size) for user, number in users(pointer))


def _fits(user: Operation, number: int, size: int) -> bool:
    if user.name == INDEXING:
        found = step(user)
        return number == 0 and found is not None and found.size % size == 0 and _consistent(user.results[0], size)
    if user.name == "llvm.load":
        return byte_size(element_type(user.results[0].type)) % size == 0
    if user.name == "llvm.store":
        return number == 1 and byte_size(element_type(user.operands[0].type)) % size == 0
    return is_mma(user) or user.name in (CHECK_ADDRESS, CHECK_STOP)
