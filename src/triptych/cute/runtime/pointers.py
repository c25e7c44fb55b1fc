"""Pointers as arguments: an address from anywhere, with the element type and alignment that the program may assume."""

from __future__ import annotations

import ctypes
from typing import Any

from triptych.cute.memory import pointers
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.element_storage import storage_of
from triptych.cute.runtime.tensor_kinds import PublicArgument
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import PointerArgumentError
from triptych.metastage.arguments.argument_kinds import Received
from triptych.metastage.trace.trace import Trace, active
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Int64, Numeric, numeric_class
from triptych.stages import Leaf
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PointerKind:
    """A kind of pointer arguments: the address crosses as a number."""

    element: str
    space: AddressSpace
    alignment: int

    @property
    def is_direct(self) -> bool:
        return False

    def key(self, names: dict[str, int]) -> tuple[Any, ...]:
        return "pointer", self.element, self.space.name, self.alignment

    def leaf(self, path: str, seen: set[str]) -> Leaf:
        return Leaf(path, "Int64")

    def passed(self, value: object) -> int:
        """The address of a pointer of the same elements, of a C pointer, or an int; of a tensor, where it begins."""
        value = getattr(value, "iterator", value)
        other = value.__argument_kind__ if isinstance(value, RuntimePointer) else self
        address = value.address if isinstance(value, RuntimePointer) else _address(value)
        if other.element != self.element or not self._reaches(other.space) or address % self.alignment:
            raise PointerArgumentError(
                "this pointer is not what the function was compiled for",
                found=f"{other} at {address:#x}",
                expected=f"{self}, an address that is a multiple of {self.alignment}",
            )
        return address

    def _reaches(self, space: AddressSpace) -> bool:
        """Whether an address that the host knows in one memory is one in this: global memory needs no other name."""
        from_host = (AddressSpace.generic, AddressSpace.gmem)
        return space is self.space or (space in from_host and self.space in from_host)

    def build(self, path: str, values: Received, trace: Trace) -> pointers.Pointer:
        address = Int64.of(next(values), trace.region)
        return pointers.make_ptr(NUMERIC_CLASSES[self.element], address, self.space, assumed_align=self.alignment)

    def __str__(self) -> str:
        return f"ptr<{self.element}, {self.space.name}, align<{self.alignment}>>"


class RuntimePointer(PublicArgument):
    """An address that can be passed to compiled functions."""

    __slots__ = ("__argument_kind__", "_owner", "address")

    __argument_kind__: PointerKind

    def __init__(self, address: int, kind: PointerKind, owner: object = None) -> None:
        self.address = address
        self.__argument_kind__ = kind
        self._owner = owner
        """Whose memory it is, if that is known: it lives as long as the pointer."""

    @property
    def _pointer(self) -> int:
        """The address, by the name that public programs give back memory by."""
        return self.address

    @property
    def dtype(self) -> type[Numeric]:
        """The type of what it points to."""
        return NUMERIC_CLASSES[self.__argument_kind__.element]

    value_type = dtype

    @property
    def memspace(self) -> AddressSpace:
        """Which memory it points into."""
        return self.__argument_kind__.space

    def align(self, min_align: int) -> RuntimePointer:
        """The same address, known to be a multiple of `min_align` bytes."""
        aligned: RuntimePointer = make_ptr(self.dtype, self.address, self.memspace, assumed_align=min_align)
        aligned._owner = self._owner
        return aligned

    def __eq__(self, other: object) -> bool:
        """Whether both are one address of one kind: elements, memory, alignment."""
        if not isinstance(other, RuntimePointer):
            return NotImplemented
        return (self.address, self.__argument_kind__) == (other.address, other.__argument_kind__)

    def __hash__(self) -> int:
        return hash((self.address, self.__argument_kind__))

    def __str__(self) -> str:
        return f"{self.__argument_kind__} at {self.address:#018x}"

    __repr__ = __str__


# Any: a number of the program in traced code; elsewhere an int or a `ctypes` pointer.
@eager
def make_ptr(
    dtype: type[Numeric],
    value: Any,
    mem_space: AddressSpace = AddressSpace.generic,
    assumed_align: int | None = None,
) -> Any:
    """A pointer from an address: an int, or a `ctypes.c_void_p`. In traced code, a pointer of the program."""
    if active() is not None:
        return pointers.make_ptr(dtype, value, mem_space, assumed_align=assumed_align)
    kind = numeric_class(dtype)
    alignment = storage_of(kind).alignment if assumed_align is None else assumed_align
    address = _address(value)
    if alignment < 1 or alignment & (alignment - 1) or address % alignment:
        raise PointerArgumentError(
            "the address is not aligned as assumed",
            found=f"the address {address:#x}, assumed_align={alignment}",
            expected="a power of two that divides the address",
            instead="`assumed_align=` the alignment that the address has",
        )
    return RuntimePointer(address, PointerKind(kind.__name__, mem_space, alignment))


@eager
def nullptr(
    dtype: type[Numeric], mem_space: AddressSpace = AddressSpace.generic, assumed_align: int | None = None
) -> Any:
    """A pointer to nothing, for arguments that a program does not use."""
    return make_ptr(dtype, 0, mem_space, assumed_align)


def _address(value: object) -> int:
    if isinstance(value, ctypes.c_void_p):
        return value.value or 0
    if isinstance(value, int):
        return value
    raise PointerArgumentError(
        "this is no address",
        found=f"a value of type {type(value).__name__}",
        expected="an int, or a `ctypes.c_void_p`",
    )
