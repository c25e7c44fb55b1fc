"""Meta-stage, debug builds: the stretch of memory that a pointer may reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from triptych.metastage.values.scalars import Int64


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
