"""Dependencies of a function: everything it reads, also through the helpers it mentions."""

from __future__ import annotations

from dataclasses import dataclass
from types import FunctionType

from triptych.fingerprint.free_variables import Read, reads
from triptych.fingerprint.tokens import Walk, definition_token


@dataclass(frozen=True, slots=True)
class Dependency:
    """One read and the function that does it (`module.qualname`)."""

    reader: str
    read: Read

    def __str__(self) -> str:
        return f"{self.reader}: {self.read.kind} {self.read.path}"


def dependencies(function: FunctionType) -> tuple[Dependency, ...]:
    """Direct reads first, then those of every function reached through names, closures, classes and values."""
    walk = Walk()
    walk.root(function)
    found: list[Dependency] = []
    for label, definition in walk.mentioned():
        definition_token(definition, walk)
        if isinstance(definition, FunctionType):
            found += (Dependency(label, read) for read in reads(definition))
    return tuple(found)
