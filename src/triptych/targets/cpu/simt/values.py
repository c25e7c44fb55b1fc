"""What a kernel value has become: a scalar of lane 0, a vector over the lanes, or one of those for each element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from triptych.ir.handles import Value


@dataclass(slots=True, eq=False)
class Scalar:
    """The value of lane 0; the other lanes differ by what the analysis knows."""

    value: Value


@dataclass(slots=True, eq=False)
class Wide:
    """One element for each lane."""

    value: Value


@dataclass(slots=True, eq=False)
class Rows:
    """A vector in every lane, element by element: one vector over the lanes for each."""

    rows: list[Value]


@dataclass(slots=True, eq=False)
class Packed:
    """A vector in every lane, lane by lane, as neighbouring lanes have it in memory."""

    value: Value
    count: int


@dataclass(slots=True, eq=False)
class Private:
    """An address in an array that every thread has for itself: its element, an int plus perhaps a run-time part."""

    root: Value
    index: int
    dynamic: Scalar | Wide | None
    size: int
    """Bytes of an element."""


Emitted: TypeAlias = Scalar | Wide | Rows | Packed | Private


def vector_type(kind: str) -> tuple[int, str] | None:
    """The count and the element type of a rank-1 vector type."""
    if not kind.startswith("vector<"):
        return None
    count, _, element = kind[7:-1].partition("x")
    return int(count), element


def element_of(kind: str) -> str:
    """The element type of a vector type; a scalar type itself."""
    found = vector_type(kind)
    return found[1] if found else kind


def plain_pointer(kind: str) -> str:
    """A CPU has one address space."""
    return "!llvm.ptr" if kind.startswith("!llvm.ptr") else kind
