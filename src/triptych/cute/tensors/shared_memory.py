"""Shared memory allocator: parts given out while a kernel is traced, one after the other.

Input: sizes and alignments that are known now. Output: pointers, structs and tensors in a block's shared memory; the
launch provides what all parts together need.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from triptych.cute.arch.shared import known_count, shared_bytes, shared_elements
from triptych.cute.dynamic.traced_integers import ints
from triptych.cute.memory.element_storage import storage_of
from triptych.cute.memory.pointers import Pointer, recast_ptr
from triptych.cute.memory.shared_window import get_smem_capacity_in_bytes
from triptych.cute.tensors.structs import Struct, struct
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import device_function
from triptych.layout import AnyLayout, ComposedLayout, IntTuple, Layout, Swizzle, cosize, make_layout, tuple_add
from triptych.metastage.values.scalars import Numeric, Uint8, numeric_class


class SmemPartition(Enum):
    """Who a part of shared memory is for, which decides where the public DSL lays it; here parts follow one another."""

    USER = 0
    RESERVED = 1


class SmemAllocator:
    """Gives out a block's shared memory; several allocators of one kernel share it."""

    @device_function
    def __init__(self) -> None:
        """Only in a kernel: there is no shared memory elsewhere."""

    def __repr__(self) -> str:
        return "SmemAllocator()"

    @staticmethod
    def capacity_in_bytes(compute_capability: str | None = None) -> int:
        """The shared memory that a block of an architecture can have."""
        return get_smem_capacity_in_bytes(compute_capability)

    def allocate(
        self, size_or_type: object, byte_alignment: int = 1, *, partition: SmemPartition = SmemPartition.USER
    ) -> Any:
        """Room for a number of bytes, for one scalar (both as a pointer) or for a `cute.struct`."""
        if isinstance(size_or_type, struct):
            return self._struct(size_or_type, byte_alignment)
        if isinstance(size_or_type, int) and not isinstance(size_or_type, bool):
            return shared_bytes(f"{size_or_type} bytes", Uint8, size_or_type, byte_alignment)
        dtype = numeric_class(size_or_type)
        return shared_elements(dtype.__name__, dtype, 1, byte_alignment)

    def allocate_array(
        self,
        element_type: type[Numeric],
        num_elems: int = 1,
        byte_alignment: int = 1,
        *,
        partition: SmemPartition = SmemPartition.USER,
    ) -> Pointer:
        """Room for elements side by side."""
        dtype = numeric_class(element_type)
        count = known_count("the number of elements", num_elems)
        return shared_elements(f"{count} * {dtype.__name__}", dtype, count, byte_alignment)

    def allocate_tensor(
        self,
        element_type: type[Numeric],
        layout: AnyLayout | IntTuple,
        byte_alignment: int = 1,
        swizzle: Swizzle | None = None,
        *,
        partition: SmemPartition = SmemPartition.USER,
    ) -> Tensor:
        """A tensor in shared memory; a shape stands for its compact layout, `swizzle` permutes addresses in bytes."""
        if not isinstance(layout, Layout | ComposedLayout):
            layout = make_layout(ints(layout))
        dtype = numeric_class(element_type)
        storage = storage_of(dtype)
        size = storage.size_in_bytes(known_count("the size of a layout", _extent(layout)))
        alignment = max(byte_alignment, storage.alignment)
        what = f"a tensor {layout} of {dtype.__name__}"
        if swizzle is None:
            return Tensor(shared_bytes(what, dtype, size, alignment), layout)
        period = _period(swizzle)
        pointer = shared_bytes(what, dtype, _whole(size, period), max(alignment, period))
        return Tensor(recast_ptr(pointer, swizzle), layout)

    def _struct(self, kind: struct, byte_alignment: int) -> Struct:
        alignment = max(byte_alignment, kind.alignment)
        members = tuple(
            (f"{kind.name}.{member.name}", member.offset, member.kind.size_in_bytes()) for member in kind.members
        )
        return kind(shared_bytes(f"the struct {kind.name}", Uint8, kind.size_in_bytes(), alignment, members))


def _extent(layout: AnyLayout) -> Any:
    """How many elements from the first to the last that the layout reaches."""
    if isinstance(layout, Layout):
        return cosize(layout)
    inner = layout.known_inner
    if isinstance(inner, Layout):
        return cosize(inner)
    reached: Any = tuple_add(layout.offset, cosize(layout.outer))
    return _whole(reached, _period(inner)) if isinstance(reached, int) else reached


def _period(swizzle: Swizzle) -> int:
    """A swizzle permutes periods of this size, each in itself."""
    return 1 << (swizzle.base + swizzle.bits + max(-swizzle.shift, 0))


def _whole(count: int, period: int) -> int:
    return -(-count // period) * period
