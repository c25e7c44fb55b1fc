"""Typed pointers: an address with its element type, its memory and what is known of its alignment.

Input: addresses that arguments, allocations and other pointers give. Output: pointers that tensors are made of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from triptych.cute.dynamic.traced_integers import ints, realize, trusted_int
from triptych.cute.memory.access import read, write
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.addresses import Allocation, Origin, advance, in_bytes, period
from triptych.cute.memory.element_storage import element_value, storage_of
from triptych.cute.memory.shared_window import cluster_pointer, shared_address, shared_pointer
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import PointerError
from triptych.ir.handles import Value
from triptych.ir.types import is_pointer, is_value, type_text
from triptych.kernel_ir.dialects.smem_operands import SmemOperand
from triptych.layout import Int, Swizzle, divisibility
from triptych.layout.mixed_radix import multiples_in
from triptych.metastage.trace.trace import Region, place
from triptych.metastage.values.numeric import leaked
from triptych.metastage.values.scalars import Int32, Int64, Numeric, Uint8, materialize, numeric_class
from triptych.support.dataclass import dataclass

ElementType: TypeAlias = type[Numeric]


@dataclass(frozen=True, slots=True)
class PointerType:
    """The type of a pointer: which bits of byte addresses are exchanged, none for a swizzle of no bits."""

    swizzle_type: Swizzle


class Pointer:
    """An address of elements. `p + n` is n elements further."""

    __slots__ = ("_region", "_value", "alignment", "allocation", "dtype", "memspace", "operand", "origin", "swizzle")

    def __init__(
        self,
        value: object,
        dtype: ElementType,
        memspace: AddressSpace = AddressSpace.generic,
        alignment: int | None = None,
        *,
        swizzle: Swizzle | None = None,
        allocation: Allocation | None = None,
        origin: Origin | None = None,
        operand: SmemOperand | None = None,
    ) -> None:
        self._value = value
        self._region: Region = tracing().region
        self.dtype = dtype
        self.memspace = memspace
        self.alignment = storage_of(dtype).alignment if alignment is None else alignment
        """What the address is assumed to be a multiple of, in bytes."""
        self.swizzle = swizzle
        """A permutation of byte addresses that every access goes through."""
        self.allocation = allocation
        """The memory it points into; known only where accesses are checked."""
        self.origin = origin
        """For swizzled memory, an address that whole periods of it are counted from; it stands for the value then."""
        self.operand = operand
        """Where it is the start of slices that matrix instructions read themselves: how a slice lies in memory."""

    @property
    def value_type(self) -> ElementType:
        """The type of what it points to."""
        return self.dtype

    element_type = value_type

    @property
    def type(self) -> PointerType:
        """What is known of it while tracing."""
        return PointerType(Swizzle(0, 4, 3) if self.swizzle is None else self.swizzle)

    @property
    def max_alignment(self) -> int:
        """The same as `alignment`."""
        return self.alignment

    def ir_value(self, *, loc: object = None, ip: object = None) -> Any:
        """The MLIR pointer; of swizzled memory, to where it would be without the swizzle."""
        value = self._checked()
        if not self._postpones or self.origin is None:
            return value
        return advance(tracing(), self.origin.address, self.origin.distance, Uint8, self.memspace)

    @property
    def _postpones(self) -> bool:
        """Whether its offsets are kept apart until an access, which permutes their sum."""
        return self.swizzle is not None and self.origin is not None

    def _checked(self) -> Any:
        region = self._region
        if not region.is_readable:
            raise leaked(self, region)
        return self._value

    def __add__(self, offset: object) -> Pointer:
        return self.advanced(ints(offset))

    __radd__ = __add__

    def __sub__(self, offset: object) -> Pointer:
        return self.advanced(-ints(offset))

    def advanced(self, offset: Int) -> Pointer:
        """The pointer `offset` elements further."""
        if isinstance(offset, int) and offset == 0:
            return self
        storage = storage_of(self.dtype)
        if divisibility(offset) % storage.group:
            raise PointerError(
                f"a pointer to {self.dtype.__name__} cannot be proven to stay at a whole byte",
                span=place(),
                found=f"an offset of {offset} elements of {self.dtype.width} bits",
                expected=f"a multiple of {storage.group} elements",
                instead="a tile whose extents and strides are such multiples, or `assume(n, divby=...)`",
            )
        value = self._checked()
        if not self._postpones:
            value = advance(tracing(), value, offset, self.dtype, self.memspace)
        certain = divisibility(offset) // storage.group * storage.group_bytes
        origin = None if self.origin is None else self.origin.moved(in_bytes(offset, self.dtype))
        return self._with(value, alignment=math.gcd(self.alignment, certain), origin=origin)

    def align(self, min_align: int) -> Pointer:
        """The same address, promised to be a multiple of `min_align` bytes (checked in debug builds)."""
        if min_align < 1 or min_align & (min_align - 1):
            raise PointerError(
                "an alignment is a power of two", span=place(), found=f"align({min_align})", expected="1, 2, 4, 8 …"
            )
        return self if self.alignment % min_align == 0 else self._with(self._checked(), alignment=min_align)

    @property
    def llvm_ptr(self) -> Any:
        """The MLIR pointer, for operations of a program's own."""
        return self.ir_value()

    def to_llvm_ptr(self, *, loc: object = None, ip: object = None) -> Any:
        """The same as `llvm_ptr`."""
        return self.ir_value()

    @property
    def value(self) -> Pointer:
        """What builder calls (`cutlass._mlir.dialects`) take for it: itself."""
        return self

    def load(self) -> Any:
        """The element it points to."""
        return self.dtype.of(read(self, 0, self), tracing().region)

    def store(self, value: object) -> None:
        """Write the element it points to."""
        write(self, 0, element_value(value, self.dtype, self), self)

    def toint(self, *, loc: object = None, ip: object = None) -> Int32 | Int64:
        """The address in bytes; one in shared memory counts from where that of the block starts, in 32 bits."""
        trace = tracing()
        if self.memspace is AddressSpace.tmem:
            return Int32.of(self.ir_value(), trace.region)
        if self.memspace not in (AddressSpace.smem, AddressSpace.dsmem):
            return self.byte_address()
        return Int32.of(shared_address(trace, self.ir_value()), trace.region)

    def byte_address(self) -> Int64:
        """The address as the machine has it."""
        trace = tracing()
        return Int64.of(trace.value("llvm.ptrtoint", (self.ir_value(),), "i64"), trace.region)

    def recast(self, dtype: ElementType | None, swizzle: Swizzle | None) -> Pointer:
        """The same address with other elements, another swizzle or both."""
        kind = dtype or self.dtype
        if swizzle is None or swizzle == self.swizzle:
            return self._with(self._checked(), dtype=kind)
        value = self.ir_value()
        origin = self.origin or Origin(value, self.alignment, 0)
        if self.memspace is not AddressSpace.smem or origin.alignment % period(swizzle):
            return self._with(value, dtype=kind, swizzle=swizzle, origin=None)
        return self._with(origin.address, dtype=kind, swizzle=swizzle, origin=origin)

    def sliced(self, operand: SmemOperand) -> Pointer:
        """The same address, without its swizzle, as the start of slices that matrix instructions read."""
        return self._with(self.ir_value(), swizzle=None, origin=None, operand=operand)

    def plain(self) -> Pointer:
        """The same address, without its swizzle."""
        return self if self.swizzle is None else self._with(self.ir_value(), swizzle=None, origin=None)

    def inside(self, allocation: Allocation) -> Pointer:
        """The same pointer, known to point into an allocation."""
        return self._with(self._checked(), allocation=allocation)

    def _with(self, value: object, **changes: object) -> Pointer:
        names = ("dtype", "memspace", "alignment", "swizzle", "allocation", "origin", "operand")
        return Pointer(value, **{**{name: getattr(self, name) for name in names}, **changes})

    def __str__(self) -> str:
        swizzled = f", {self.swizzle}" if self.swizzle is not None else ""
        swizzled += f", {self.operand}" if self.operand is not None else ""
        return f"ptr<{self.dtype.__name__}, {self.memspace.name}, align<{self.alignment}>{swizzled}>"

    __repr__ = __str__

    # crossing branches, loops, calls and launches -----------------------------------------------------------------
    def __extract_mlir_values__(self) -> list[Any]:
        """Whole periods apart: where only their number changes in a loop, what is permuted stays as it is."""
        extent = self.allocation.numbers() if self.allocation is not None else ()
        if self.swizzle is None or self.origin is None:
            return [self.ir_value(), *extent]
        whole = multiples_in(self.origin.distance, period(self.swizzle))
        parts = (self.origin.distance - whole, whole)
        return [self._checked(), *(Int32(realize(part, widest=Int32)) for part in parts), *extent]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Pointer:
        address, *numbers = values
        origin = None
        if self.swizzle is not None and self.origin is not None:
            rest, multiples, *numbers = numbers
            distance = trusted_int(rest, self.alignment) + trusted_int(multiples, period(self.swizzle))
            origin = Origin(address, self.origin.alignment, distance)
        rebuilt = self._with(address, allocation=None, origin=origin)
        return rebuilt if self.allocation is None else rebuilt.inside(self.allocation.rebuilt(numbers))

    def __static_part__(self) -> tuple[Any, ...]:
        extent = self.allocation.static_part() if self.allocation is not None else None
        origin = self.origin.alignment if self.swizzle is not None and self.origin is not None else None
        return self.dtype, self.memspace, self.alignment, self.swizzle, origin, extent, self.operand


def make_ptr(
    dtype: type[Numeric],
    value: Any,
    mem_space: AddressSpace = AddressSpace.generic,
    *,
    assumed_align: int | None = None,
) -> Pointer:
    """A pointer from an address in bytes, or from a pointer of MLIR that a builder call has given."""
    trace = tracing()
    if mem_space is AddressSpace.tmem:
        return Pointer(materialize(value, Int32.info, trace), numeric_class(dtype), mem_space, assumed_align)
    given = _given_pointer(value)
    if given is not None and type_text(given.type) != mem_space.pointer_type:
        pointer = trace.value("llvm.addrspacecast", (given,), mem_space.pointer_type)
    elif given is not None:
        pointer = given
    elif mem_space is AddressSpace.smem and trace.kernel is not None:
        pointer = shared_pointer(trace, materialize(value, Int64.info, trace))
    elif mem_space is AddressSpace.dsmem and trace.kernel is not None:
        pointer = cluster_pointer(trace, materialize(value, Int64.info, trace))
    else:
        pointer = trace.value("llvm.inttoptr", (materialize(value, Int64.info, trace),), mem_space.pointer_type)
    return Pointer(pointer, numeric_class(dtype), mem_space, assumed_align)


# Any: what has an MLIR value is asked for it.
def _given_pointer(value: Any) -> Value | None:
    """The MLIR pointer that a value stands for; None for a number, which is an address."""
    if isinstance(value, Numeric | int):
        return None
    found: Value | None = value.ir_value() if hasattr(value, "ir_value") else value if is_value(value) else None
    if found is None or not is_pointer(found.type):
        raise PointerError(
            "there is no address in this value",
            span=place(),
            found=f"{type(value).__name__}" if found is None else f"a value of type {type_text(found.type)}",
            expected="an integer, or a pointer that a builder call has given",
        )
    return found


def recast_ptr(ptr: Pointer, swizzle_: Swizzle | None = None, dtype: type[Numeric] | None = None) -> Pointer:
    """The same address seen as elements of another type, through a swizzle of byte addresses or, without one, plainly.

    A pointer that had a swizzle has it no more unless it is given again.
    """
    kind = None if dtype is None else numeric_class(dtype)
    return (ptr.plain() if swizzle_ is None else ptr).recast(kind, swizzle_)
