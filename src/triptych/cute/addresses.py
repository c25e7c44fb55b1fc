"""Meta-stage, address arithmetic: an offset in elements becomes one `llvm.getelementptr`.

What is known now is an immediate of the operation, apart from what the run computes: many accesses share the latter.
"""

from __future__ import annotations

from typing import Any

from triptych.cute.address_spaces import AddressSpace
from triptych.cute.element_storage import storage_of
from triptych.cute.traced_integers import realize
from triptych.layout import Int, Swizzle, SymInt
from triptych.metastage.scalars import Int32, Int64, Numeric
from triptych.metastage.tracing import Trace

_DYNAMIC = -(1 << 31)


def advance(trace: Trace, address: Any, offset: Int, dtype: type[Numeric], space: AddressSpace) -> Any:
    """The address `offset` elements further; of packed elements, whole bytes further."""
    storage = storage_of(dtype)
    if storage.is_packed:
        offset = offset // storage.group * storage.group_bytes
    known, computed = parted_offset(offset)
    if not isinstance(computed, int):
        address = _element(trace, address, realize(computed), storage.unit, space)
    return address if known == 0 else _element(trace, address, known, storage.unit, space)


def swizzled(trace: Trace, address: Any, swizzle: Swizzle | None, space: AddressSpace) -> Any:
    """An address through a swizzle, which permutes the bits of the address in bytes."""
    if swizzle is None or swizzle.bits == 0:
        return address
    here: Any = Int64.of(trace.value("llvm.ptrtoint", (address,), "i64"), trace.region)
    return _element(trace, address, swizzle(here) - here, "i8", space)


def parted_offset(offset: Int) -> tuple[int, Int]:
    """The constant term of an offset, and the rest."""
    if isinstance(offset, int):
        return offset, 0
    assert isinstance(offset, SymInt)
    known = dict(offset.terms).get((), 0)
    return known, offset - known


def _element(trace: Trace, address: Any, index: Numeric | int, unit: str, space: AddressSpace) -> Any:
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
