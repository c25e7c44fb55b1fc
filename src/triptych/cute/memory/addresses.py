"""Address arithmetic: an offset in elements becomes one `llvm.getelementptr`.

What is known now is an immediate of the operation, apart from what the run computes: many accesses share the latter.
A swizzle permutes aligned stretches of memory, each in itself. So what is permuted is a distance from an address that
begins one, in the arithmetic of layouts, which takes whole stretches apart: accesses that differ by those share the
permuted rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from triptych.cute.dynamic.traced_integers import realize
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.allocations import Allocation
from triptych.cute.memory.element_storage import storage_of
from triptych.cute.memory.swizzled_offsets import permuted
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.smem_operands import SmemOperand
from triptych.layout import Int, Swizzle, SymInt
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.scalars import Int32, Int64, Numeric, Uint8

_DYNAMIC = -(1 << 31)


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """An address, what it is a multiple of, and how many bytes a pointer lies after it."""

    address: Any
    alignment: int
    distance: Int

    def moved(self, in_bytes: Int) -> Origin:
        """The same address for a pointer further on."""
        return Origin(self.address, self.alignment, self.distance + in_bytes)


class Addressed(Protocol):
    """What an access asks of the pointer that it goes through."""

    dtype: type[Numeric]
    memspace: AddressSpace
    alignment: int
    swizzle: Swizzle | None
    allocation: Allocation | None
    origin: Origin | None
    operand: SmemOperand | None

    def ir_value(self) -> Value: ...


def stretch(swizzle: Swizzle) -> int:
    """The bytes that a swizzle permutes in themselves, whatever comes before them."""
    return 1 << (swizzle.base + abs(swizzle.shift) + swizzle.bits)


def advance(trace: Trace, address: Value, offset: Int, dtype: type[Numeric], space: AddressSpace) -> Value:
    """The address `offset` elements further; of packed elements, whole bytes further."""
    storage = storage_of(dtype)
    if storage.is_packed:
        offset = in_bytes(offset, dtype)
    known, computed = parted_offset(offset)
    if not isinstance(computed, int):
        widest = Int32 if space is AddressSpace.smem else Int64  # no shared memory has more than 31 bits
        address = _element(trace, address, realize(computed, widest), storage.unit, space)
    return address if known == 0 else _element(trace, address, known, storage.unit, space)


def in_bytes(offset: Int, dtype: type[Numeric]) -> Int:
    """An offset of whole bytes, given in elements."""
    storage = storage_of(dtype)
    return offset // storage.group * storage.group_bytes


def reached(trace: Trace, pointer: Addressed, offset: Int, dtype: type[Numeric]) -> Value:
    """The address that an access `offset` elements of a type after the pointer goes to: through its swizzle."""
    swizzle, origin, space = pointer.swizzle, pointer.origin, pointer.memspace
    if swizzle is not None and origin is not None:
        distance = permuted(swizzle, origin.distance + in_bytes(offset, dtype))
        return advance(trace, origin.address, distance, Uint8, space)
    plain = advance(trace, pointer.ir_value(), offset, dtype, space)
    if swizzle is None or swizzle.bits == 0:
        return plain
    here: Any = Int64.of(trace.value("llvm.ptrtoint", (plain,), "i64"), trace.region)
    return _element(trace, plain, swizzle(here) - here, "i8", space)


def parted_offset(offset: Int) -> tuple[int, Int]:
    """The constant term of an offset, and the rest."""
    if isinstance(offset, int):
        return offset, 0
    assert isinstance(offset, SymInt)
    known = dict(offset.terms).get((), 0)
    return known, offset - known


def _element(trace: Trace, address: Value, index: Numeric | int, unit: str, space: AddressSpace) -> Value:
    builder = trace.builder
    operands = [address]
    if isinstance(index, int) and Int32.info.holds(index) and index != _DYNAMIC:
        position = index
    else:
        operands.append((Int64(index) if isinstance(index, int) else index.to(Int64)).ir_value())
        position = _DYNAMIC
    attributes = {
        "elem_type": builder.type_attribute(unit),
        "rawConstantIndices": builder.attribute(f"array<i32: {position}>"),
    }
    return trace.value("llvm.getelementptr", operands, space.pointer_type, attributes)
