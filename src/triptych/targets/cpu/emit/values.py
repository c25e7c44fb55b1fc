"""Value representations of a warp: a scalar of lane 0, a vector over the lanes, one for each element of an array."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import TypeAlias

from triptych.ir.handles import Operation, Type, Value
from triptych.ir.types import byte_size, element_type, generic_pointer, integer_type, is_pointer
from triptych.kernel_ir.analysis.addresses import step
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
# such accesses are whole vectors and LLVM turns them into registers. Where accesses are smaller than its elements, as
# of Float32 that half-precision results share, elements are words of the smallest one. Any other array stays lane by
# lane.


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
    size, count = byte_size(element), int(producer(operation.operands[0]).attributes["value"].value)
    word = _word(operation.results[0], size)
    if word in (0, size):
        return PrivateArray(operation, element, count, by_element=word == size)
    return PrivateArray(operation, integer_type(8 * word, element.context), count * (size // word), by_element=True)


def _word(pointer: Value, size: int) -> int:
    """The bytes of the words that elements of `size` bytes consist of; 0 where each lane needs memory of its own."""
    uses = list(_uses(pointer))
    word = gcd(size, *(0 if one is None else one for _, one in uses))
    if any(one is None for _, one in uses) or (word != size and any(is_mma(user) for user, _ in uses)):
        return 0
    return word


def _uses(pointer: Value) -> Iterator[tuple[Operation, int | None]]:
    """What uses an address, and the bytes that it moves or goes on by; None for what no array of words may have."""
    for user, number in users(pointer):
        found = step(user) if number == 0 else None
        if found is not None:
            yield user, found.size * found.index if isinstance(found.index, int) else found.size
            yield from _uses(user.results[0])
        elif user.name == "llvm.load":
            yield user, byte_size(element_type(user.results[0].type))
        elif user.name == "llvm.store" and number == 1:
            yield user, byte_size(element_type(user.operands[0].type))
        else:
            yield user, 0 if is_mma(user) or user.name in (CHECK_ADDRESS, CHECK_STOP) else None
