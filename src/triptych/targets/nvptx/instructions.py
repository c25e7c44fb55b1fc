"""Which architectures have an instruction: one row for each operation that not all of them have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Instruction:
    """An operation, and the first generation of GPUs that has it."""

    operation: str
    since: int
    specific: bool = False
    """Only architectures whose name ends in `a` have it."""
    when: Callable[[Any], bool] = lambda operation: True
    """The forms of the operation that the row is about."""


def _attribute(name: str, *values: str) -> Callable[[Any], bool]:
    """Whether the text of an attribute has one of these words in it."""

    def holds(operation: Any) -> bool:
        return name in operation.attributes and any(value in str(operation.attributes[name]) for value in values)

    return holds


_cluster = _attribute("syncscope", '"cluster"')
_of_floats = _attribute("kind", "fmin", "fmax")

INSTRUCTIONS = (
    Instruction("llvm.atomicrmw", 90, when=_cluster),
    Instruction("llvm.cmpxchg", 90, when=_cluster),
    Instruction("llvm.fence", 90, when=_cluster),
    Instruction("nvvm.elect.sync", 90),
    Instruction("nvvm.redux.sync", 100, specific=True, when=_of_floats),
)
