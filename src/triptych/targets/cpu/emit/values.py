"""Value representations of a warp: a scalar of lane 0, a vector over the lanes, or one of those for each element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from triptych.ir.handles import Type, Value
from triptych.ir.types import generic_pointer, is_pointer


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
