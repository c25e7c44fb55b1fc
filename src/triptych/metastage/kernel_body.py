"""The kernel that is being traced: its function, its region, and the shared memory that its body has asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from triptych.support.source import Span

if TYPE_CHECKING:
    from triptych.metastage.tracing import Region


@dataclass(frozen=True, slots=True)
class SharedPart:
    """A stretch of a block's shared memory, in bytes, and the line that asked for it."""

    what: str
    offset: int
    size: int
    span: Span | None

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(slots=True)
class KernelBody:
    """A kernel while its body is traced. Its shared memory is laid out in the order in which the body asks."""

    name: str
    function: Any
    block: tuple[Any, Any, Any]
    """Threads of a block, in three dimensions: ints where they are known while tracing."""
    cluster: tuple[int, int, int]
    """Blocks of a cluster."""
    region: Region | None = None
    shared: list[SharedPart] = field(default_factory=list)
    divides_itself: bool = False
    """Whether the body takes all shared memory that the launch provides, and divides it."""
    reserved_barriers: int = 0
    """Barriers of the block that the language keeps for itself, counted from the last."""
    size_argument: Any = None
    """Where the launch passes how much shared memory there is, if the body asks."""

    @property
    def shared_bytes(self) -> int:
        """What a launch has to provide."""
        return self.shared[-1].end if self.shared else 0

    def share(self, what: str, size: int, alignment: int, span: Span | None) -> int:
        """The offset of a further part of shared memory."""
        offset = -(-self.shared_bytes // alignment) * alignment
        self.shared.append(SharedPart(what, offset, size, span))
        return offset


_ALLOCATION = {"aligned_alloc", "calloc", "free", "malloc", "memcpy", "memmove", "memset", "realloc"}
_OF_C = {*vars(math), *_ALLOCATION, "clock_gettime", "printf"}
"""Functions that compiled code may call: a function of the program with such a name would take their place."""


def symbol(name: str) -> str:
    """A Python name as a symbol that every assembler takes: ASCII, no digit first, not `_` alone, not one of C's."""
    mapped = "".join(c if c == "_" or (c.isascii() and c.isalnum()) else _letter(c) for c in name)
    if {mapped, mapped.removesuffix("f")} & _OF_C:
        return f"{mapped}_"
    return f"_{mapped}" if not mapped.strip("_") or mapped[0].isdigit() else mapped


def _letter(character: str) -> str:
    """Letters of other alphabets by their numbers, so that two names stay two; marks (`<lambda>`) as underscores."""
    return "_" if character.isascii() else f"u{ord(character):x}_"
