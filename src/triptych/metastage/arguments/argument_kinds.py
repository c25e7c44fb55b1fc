"""Kinds of arguments that a language adds to numbers: tensors, pointers. The base knows only this protocol.

A value has a kind by its attribute `__argument_kind__`, or by offering a protocol of other libraries that a language
claims (`CLAIMS`): any object with `__dlpack__` is a tensor, any with `__cuda_stream__` a stream. What NumPy takes
without copying is a tensor, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from triptych.interop.foreign_arrays import is_foreign_array
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.promotion import TYPES
from triptych.stages import Leaf
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
