"""Address arithmetic: an offset in elements becomes one `llvm.getelementptr`; debug builds check bounds.

What is known now is an immediate of the operation, apart from what the run computes: many accesses share the latter.
A swizzle permutes aligned blocks of memory, each in itself. So what is permuted is a distance from an address that
begins one, in the arithmetic of layouts, which takes whole blocks apart: accesses that differ by those share the
permuted rest, which is remembered for the trace.
In debug builds a pointer has the allocation that it may reach, and every access is checked to lie in it, aligned as
assumed and not at null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from triptych.cute.dynamic.traced_integers import realize
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.element_storage import storage_of
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import PointerError
from triptych.diagnostics.runtime_errors import MisalignedAccessError, NullPointerError, OutOfBoundsError
from triptych.ir.handles import Value
from triptych.kernel_ir.analysis.addresses import private_place
from triptych.kernel_ir.dialects.smem_operands import SmemOperand
from triptych.kernel_ir.dialects.tensor_memory import address_step, elements_per_word
from triptych.layout import Int, Swizzle, SymInt, divisibility
from triptych.layout.mixed_radix import constant_and_rest
from triptych.layout.swizzle import SwizzleSplit
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.scalars import Int32, Int64, Numeric, Uint8, materialize
from triptych.sanitizer.checkers import BOUNDS, checkers
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """The address of its first byte, and its extent in bytes."""

    start: Int64
    extent: Int64 | int

    def numbers(self) -> list[Int64]:
        """The run-time numbers it is made of."""
        return [self.start] if isinstance(self.extent, int) else [self.start, self.extent]

    def rebuilt(self, numbers: Sequence[Any]) -> Allocation:
        """The same allocation, of numbers that have crossed into another region."""
        return Allocation(numbers[0], self.extent if isinstance(self.extent, int) else numbers[1])

    def static_part(self) -> int | None:
        """What is known of it while tracing."""
        return self.extent if isinstance(self.extent, int) else None


_PARTS, _PERMUTED = "parts of offsets", "permuted offsets"


def permuted(swizzle: Swizzle, offset: Int) -> Int:
    """swizzle(offset)."""
    if not isinstance(offset, SymInt):
        return swizzle(offset)
    constant, computed = constant_and_rest(offset)
    table = tracing().tables[_PARTS]
    parts: SwizzleSplit | None = table.get((swizzle, computed))
    if parts is None:
        parts = table[swizzle, computed] = swizzle.parts(computed)
    rest, added = parts.moved(constant)
    if isinstance(rest, int):
        return swizzle(rest) + added
    table = tracing().tables[_PERMUTED]
    known: Int | None = table.get((swizzle, rest))
    if known is None:
        known = table[swizzle, rest] = swizzle(rest)
    return known + added


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


def period(swizzle: Swizzle) -> int:
    """The bytes that a swizzle permutes in themselves, whatever comes before them."""
    return 1 << (swizzle.base + abs(swizzle.shift) + swizzle.bits)


def advance(trace: Trace, address: Value, offset: Int, dtype: type[Numeric], space: AddressSpace) -> Value:
    """The address `offset` elements further; of packed elements, whole bytes further."""
    if space is AddressSpace.tmem:
        return _tensor_address(trace, address, offset, dtype.width)
    storage = storage_of(dtype)
    if storage.is_packed:
        offset = in_bytes(offset, dtype)
    known, computed = parted_offset(offset)
    if not isinstance(computed, int):
        widest = Int32 if space is AddressSpace.smem else Int64  # no shared memory has more than 31 bits
        address = _element(trace, address, realize(computed, widest), storage.unit, space)
    return address if known == 0 else _element(trace, address, known, storage.unit, space)


def _tensor_address(trace: Trace, address: Value, offset: Int, width: int) -> Value:
    """An address of tensor memory `offset` elements further: what is computed is whole words."""
    known, computed = parted_offset(offset)
    together = elements_per_word(width)
    if divisibility(computed) % together:
        raise PointerError(
            "an address of tensor memory is not proven to be that of a whole word",
            span=place(),
            found=f"an offset of {offset} elements of {width} bits",
            expected=f"a multiple of {together} elements, as far as it is not known while tracing",
        )
    here: Any = Int32.of(address, trace.region)
    if known:
        here = here + address_step(known, width)
    if not isinstance(computed, int):
        here = here + realize(computed // together, Int32)
    return materialize(here, Int32.info, trace)


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
    assert isinstance(offset, SymInt), "an offset that is no int is symbolic"
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


_FROM_OUTSIDE = (AddressSpace.generic, AddressSpace.gmem)
_FIRST_ADDRESS = 4096
"""No system maps the first page, so an address below is an offset from null."""


def checks_bounds() -> bool:
    """Whether this is a debug build whose accesses are checked."""
    return BOUNDS in checkers()


def check_access(trace: Trace, pointer: Addressed, address: Value, size: int, alignment: int, what: object) -> None:
    """Check one access of `size` bytes through the pointer; in other builds nothing is emitted."""
    if not checks_bounds() or _is_known_inside(address, size):
        return
    here: Any = Int64.of(trace.value("llvm.ptrtoint", (address,), "i64"), trace.region)
    bytes_text = f"{size} byte{'s' if size > 1 else ''}"
    if pointer.memspace in _FROM_OUTSIDE:
        start = here if pointer.allocation is None else pointer.allocation.start
        exists = (start >= _FIRST_ADDRESS).ir_value()
        title = f"an access of {bytes_text} through a null pointer in {what}"
        check(trace, exists, NullPointerError.__name__, title, expected="the address of an allocation")
    if pointer.allocation is not None:
        offset = here - pointer.allocation.start
        inside = (offset >= 0) & (offset <= pointer.allocation.extent - size)
        title = f"an access of {bytes_text} lies outside the memory of {what}"
        expected = "a coordinate inside the layout, or a check such as `if cute.elem_less(coord, shape)`"
        found = _outside(pointer, pointer.allocation.extent)
        check(trace, inside.ir_value(), OutOfBoundsError.__name__, title, found=found, expected=expected)
    if alignment > 1:
        title = f"an access of {bytes_text} in {what} is not aligned as assumed"
        expected = f"an address that is a multiple of {alignment} bytes"
        aligned = (here & (alignment - 1)) == 0
        check(trace, aligned.ir_value(), MisalignedAccessError.__name__, title, expected=expected)


def _is_known_inside(address: Value, size: int) -> bool:
    """Whether an access of registers needs no check at run time; whose addresses nobody asks for stay registers."""
    found = private_place(address)
    return found is not None and found.offset >= 0 and size <= found.bytes_left


def _outside(pointer: Addressed, extent: object) -> str:
    """What was found, as far as it is known while tracing: the size of memory that is not an argument."""
    if not isinstance(extent, int):
        return ""
    elements = extent * 8 // pointer.dtype.width
    part = ", or a part that it does not have" if pointer.memspace.is_private else ""
    plural = "" if elements == 1 else "s"
    return f"an address outside the {elements} element{plural} ({extent} bytes) of that memory{part}"
