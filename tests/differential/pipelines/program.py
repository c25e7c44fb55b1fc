"""A kernel of producers and consumers: roles that hand items on through rings of stages, and what comes out.

An item is 128 numbers. Role 0 brings items into the first ring, each following role takes them from one ring and puts
what it makes of them into the next, and the last ones (one or two, which both see every item) write them down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS, COLUMNS = 4, 32
ITEM = ROWS * COLUMNS
MOST_ITEMS = 9


@dataclass(frozen=True, slots=True)
class Ring:
    """Stages between two roles. `kind`: who says that a stage is full: all threads, one of each warp, or the bytes."""

    stages: int
    kind: str


@dataclass(frozen=True, slots=True)
class Role:
    """Some warps that do the same: element e becomes `factor` times element e + `turn`, plus `addend`, plus the item's
    number."""

    warps: int
    turn: int
    factor: int
    addend: int
    style: str
    """How it says where it is: states or handles."""
    asks: bool
    """Whether it asks before it waits."""
    held: int
    """How many stages it keeps when it goes on to the next."""
    loop: str
    stored: int = 0
    """For a last role: the stages from which boxes store its items; 0: threads do."""

    def of(self, items: NDArray[np.int32]) -> NDArray[np.int32]:
        """What it makes of items, one in each row."""
        numbers = np.arange(len(items), dtype=np.int32)[:, None]
        return np.roll(items, -self.turn, 1) * np.int32(self.factor) + np.int32(self.addend) + numbers


@dataclass(frozen=True, slots=True)
class PipelineProgram:
    """A module with a host function `launch(given, out, items)`."""

    source: str
    rings: tuple[Ring, ...]
    roles: tuple[Role, ...]
    sinks: int
    blocks: int
    calls: tuple[int, ...]
    """How many items each call has."""
    level: int
    """How much the compiler optimizes."""
    order: str
    """When copies happen on the CPU."""

    def given(self) -> NDArray[np.int32]:
        values = np.arange(MOST_ITEMS * ITEM, dtype=np.int32) * np.int32(7919) % np.int32(1009)
        return values.reshape(MOST_ITEMS * ROWS, COLUMNS)

    def out(self) -> NDArray[np.int32]:
        return np.full((self.sinks * self.blocks * MOST_ITEMS * ROWS, COLUMNS), -1, np.int32)

    def expected(self, items: int) -> Any:
        """What a call leaves behind: all blocks do the same."""
        values = self.given().reshape(MOST_ITEMS, ITEM)[:items]
        if self.rings[0].kind != "bytes":
            values = self.roles[0].of(values)
        for role in self.roles[1 : len(self.rings)]:
            values = role.of(values)
        out = self.out().reshape(self.sinks, self.blocks, MOST_ITEMS, ITEM)
        for number, role in enumerate(self.roles[len(self.rings) :]):
            out[number, :, :items] = role.of(values)
        return out.reshape(-1, COLUMNS)

    def __str__(self) -> str:
        calls = f"items {self.calls}, {self.blocks} blocks, -O{self.level}, {self.order}"
        return "\n".join([str(self.rings), str(self.roles), calls, self.source])
