"""Kinds of arguments beside numbers: what a language adds, as tensors and pointers, by one protocol, and objects that
say where their values of C lie.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Protocol

from triptych.interop.foreign_arrays import is_foreign_array
from triptych.ir.types import is_float, is_integer, type_text
from triptych.metastage.trace.errors import ArgumentKindError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.promotion import TYPES
from triptych.metastage.values.scalars import NUMERIC_CLASSES
from triptych.stages import Leaf
from triptych.support.dataclass import dataclass
from triptych.support.registry import Registry
from triptych.support.source import Span


class ArgumentKind(Protocol):
    """What an argument is at run time: equal kinds have equal keys, and one leaf of the compiled signature."""

    @property
    def is_direct(self) -> bool:
        """Whether the compiled function takes the Python object as it is."""

    def key(self, names: dict[str, int]) -> Any:
        """What decides the compiled code; unknowns shared by several arguments are numbered in `names`."""

    def leaf(self, path: str, seen: set[str]) -> Leaf:
        """The leaf of an argument of this kind; unknowns that no earlier leaf has are added to `seen`."""

    def passed(self, value: object) -> Any:
        """What is passed to compiled code for the Python object."""

    def build(self, path: str, values: Received, trace: Trace) -> Any:
        """The argument as the traced function sees it."""


@dataclass(frozen=True, slots=True)
class WantedArgument:
    """What a class that parameters are annotated with (`__wanted_argument__`) wants in the place of Python's values."""

    expected: str
    instead: str
    """`{}` is the argument."""


Claim = Callable[[Any, str, Span | None], ArgumentKind]

CLAIMS: Registry[Claim] = Registry(
    "triptych.arguments",
    builtin={
        "__dlpack__": "triptych.cute.runtime.tensor_kinds:kind_of_tensor",
        "__cuda_stream__": "triptych.metastage.arguments.streams:kind_of_stream",
    },
)
"""How objects whose class has an attribute of that name become arguments."""
_PROTOCOLS = ("__dlpack__", "__cuda_stream__")


# Any: its class is asked.
def kind_of(value: Any, path: str, caller: Span | None) -> ArgumentKind | None:
    """The kind of a value, if it has one."""
    if hasattr(type(value), "__argument_kind__"):
        kind: ArgumentKind = value.__argument_kind__
        return kind
    for protocol in _PROTOCOLS:
        if hasattr(type(value), protocol):
            return CLAIMS.get(protocol)(value, path, caller)
    return CLAIMS.get("__dlpack__")(value, path, caller) if is_foreign_array(value) else None


def received_types(leaf: Leaf) -> list[str]:
    """MLIR types of what compiled code receives for a leaf."""
    if leaf.memory is None:
        return [TYPES[leaf.dtype].mlir]
    pointer = f"!llvm.ptr<{leaf.memory.space}>" if leaf.memory.space else "!llvm.ptr"
    return [pointer, *(f"i{unknown.width}" for unknown in leaf.memory.unknowns)]


class Received:
    """What a compiled function receives: one value for each leaf, one after the other, and `unknowns` by name."""

    def __init__(self, leaves: Sequence[Leaf], values: Sequence[Any]) -> None:
        rest = iter(values)
        self._first = []
        self.unknowns: dict[str, Any] = {}
        for leaf in leaves:
            self._first.append(next(rest))
            for unknown in leaf.memory.unknowns if leaf.memory is not None else ():
                self.unknowns[unknown.name] = next(rest)
        self._rest = iter(self._first)

    def __next__(self) -> Any:
        return next(self._rest)


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
