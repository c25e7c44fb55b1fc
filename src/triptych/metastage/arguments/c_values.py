"""Arguments that are values of C: an object says where each lies and what its MLIR type is, and the function reads it.

This is the protocol of public programs for structs of other libraries: `__c_pointers__` gives addresses, and
`__get_mlir_types__` the types of what lies there. Types need a trace, so that they are asked for in one only.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from triptych.ir.types import is_float, is_integer, type_text
from triptych.metastage.arguments.argument_kinds import Received
from triptych.metastage.trace.errors import ArgumentKindError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.scalars import NUMERIC_CLASSES
from triptych.stages import Leaf

_NUMBERS = {cls.info.mlir: cls for cls in NUMERIC_CLASSES.values() if cls.info.kind != "uint"}
"""The class of a number by its MLIR type, whose integers have no sign."""


@dataclass(frozen=True, slots=True)
class CValueKind:
    """A value of C: its address crosses as a number. What type it has, follows from what else the owner holds."""

    index: int
    owner: Any = field(compare=False, repr=False)

    @property
    def is_direct(self) -> bool:
        return False

    def key(self, names: dict[str, int]) -> tuple[Any, ...]:
        return "C value", self.index

    def leaf(self, path: str, seen: set[str]) -> Leaf:
        return Leaf(path, "Int64")

    def passed(self, value: Any) -> int:
        address: int = value.address
        return address

    def build(self, path: str, values: Received, trace: Trace) -> Any:
        """What lies at the address: a number of the language, or an MLIR value."""
        types = self.owner.__get_mlir_types__()
        if self.index >= len(types):
            raise ArgumentKindError(
                f"`{path}` has no type",
                span=place(),
                found=f"{len(types)} of `{type(self.owner).__name__}.__get_mlir_types__()`",
                expected="one for each address that `__c_pointers__()` gives",
            )
        kind = types[self.index]
        pointer = trace.value("llvm.inttoptr", (next(values),), "!llvm.ptr")
        loaded = trace.value("llvm.load", (pointer,), type_text(kind))
        number = _NUMBERS.get(type_text(kind)) if is_integer(kind) or is_float(kind) else None
        return loaded if number is None else number.of(loaded, trace.region)


class CValue:
    """One value of C that an object is made of."""

    __slots__ = ("__argument_kind__", "address")

    def __init__(self, address: int, kind: CValueKind) -> None:
        self.address = address
        self.__argument_kind__ = kind


# Any: told apart by its class.
def c_values(owner: Any, parts: Sequence[Any]) -> tuple[Any, ...]:
    """What an object gives for pointers; plain addresses among them are those of values of C."""
    if not hasattr(type(owner), "__get_mlir_types__"):
        return tuple(parts)
    return tuple(
        part if address is None else CValue(address, CValueKind(index, owner))
        for index, (part, address) in enumerate(zip(parts, map(_address, parts), strict=True))
    )


def _address(part: object) -> int | None:
    if isinstance(part, ctypes.c_void_p):
        return part.value or 0
    return part if type(part) is int else None
