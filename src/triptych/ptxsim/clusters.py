"""Clusters, blocks that run together: they reach each other's shared memory, and synchronize at a barrier.

The blocks take turns. What goes on by itself happens when nobody can go on otherwise ("late"), when it is asked for
("early"), or at any time that a seed chooses.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from triptych.ptxsim.accesses import WINDOWS
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.conversions import Mask
from triptych.ptxsim.operands import BlockState, Dims
from triptych.ptxsim.reading import Instruction
from triptych.ptxsim.tensor_maps import TensorMap

Order = str | int
"""When copies happen: "early", "late", or the seed of a choice."""
PEER = 24
"""Bits of an address in the shared memory of one block."""
_OFTEN = 256
"""Turns after which copies happen although somebody can go on: it may be in a loop that waits for them."""
_PATIENCE = 64
"""How often threads are told that nothing happens before they are stuck."""


class StuckError(Exception):
    """Threads wait for each other for ever."""


class Operation(Protocol):
    """What goes on by itself."""

    what: str

    @property
    def may_be_last(self) -> bool:
        """Whether the blocks may end before it has happened."""

    def run(self) -> None: ...


class AsyncStore(Protocol):
    """A bulk store under way."""

    def finish(self, *, only_reads: bool) -> None: ...


class Cluster:
    """Some blocks, often one."""

    def __init__(self, shape: Dims, order: Order) -> None:
        self.shape = shape
        self.blocks: list[BlockState] = []
        self.maps: dict[int, TensorMap] = {}
        """Tensor maps that were read, by their addresses."""
        self.generation = 0
        """How often all have met at the barrier."""
        self.unstarted: Any = None
        """The other clusters of the grid."""
        self._order = order
        self._random = random.Random(order if isinstance(order, int) else 0)
        self._under_way: list[Operation] = []
        self._refusals = 0

    def run(self, first: Dims) -> None:
        """The blocks from an index on."""
        self.generation = self._refusals = 0
        self.maps.clear()
        for block, (z, y, x) in zip(self.blocks, itertools.product(*map(range, reversed(self.shape))), strict=True):
            block.start((first[0] + x, first[1] + y, first[2] + z))
        for turn in itertools.count(1):
            went_on = [block.turn(turn) for block in self.blocks]
            if any(went_on):
                self._perhaps(turn)
            elif not any(block.alive.any() for block in self.blocks):
                break
            elif self._under_way:
                self._happen(0)
            elif not self._refuse():
                break
        lines = [line for block in self.blocks for line in block.where()]
        if lines:
            raise StuckError("; ".join(lines))
        while self._under_way and self._under_way[0].may_be_last:
            self._happen(0)
        if self._under_way:
            raise StuckError(f"the blocks have ended, and this is still under way: {self._under_way[0].what}")
        for block in self.blocks:
            block.stores.finish()
            block.tensor.end()
            block.register_counts.end()

    # what goes on by itself ----------------------------------------------------------------------------------------
    def issue(self, operation: Operation) -> None:
        if self._order == "early":
            operation.run()
        else:
            self._under_way.append(operation)

    def happens_now(self) -> bool:
        """Whether something that nobody waits for yet happens when it is asked for."""
        return self._order == "early" or (isinstance(self._order, int) and self._random.random() < 0.5)

    def refuses_work(self) -> bool:
        """Whether a request for another cluster fails although there is one."""
        return isinstance(self._order, int) and self._random.random() < 0.25

    def issue_store(self, store: AsyncStore) -> None:
        if self.happens_now():
            store.finish(only_reads=False)

    def _happen(self, place: int) -> None:
        self._refusals = 0
        self._under_way.pop(place).run()

    def _perhaps(self, turn: int) -> None:
        if not self._under_way:
            return
        if turn % _OFTEN == 0:
            self._happen(0)
        elif isinstance(self._order, int) and self._random.random() < 0.2:
            self._happen(self._random.randrange(len(self._under_way)))

    # who waits -----------------------------------------------------------------------------------------------------
    def wake(self) -> None:
        """Something has happened that threads may wait for."""
        self._refusals = 0
        for block in self.blocks:
            block.waiting.clear()

    def _refuse(self) -> bool:
        """Threads that ask whether a phase is over learn that it is not; some do something else then."""
        self._refusals += 1
        refused = [block.refuse() for block in self.blocks] if self._refusals < _PATIENCE else []
        return any(refused)

    # the barrier ---------------------------------------------------------------------------------------------------
    def meet(self) -> None:
        """All have arrived who have not ended."""
        arrived = [block.meetings[block.alive] > self.generation for block in self.blocks]
        if all(each.all() for each in arrived) and any(each.size for each in arrived):
            self.generation += 1
            self.wake()


class ClusterWait:
    """`barrier.cluster.wait`."""

    def __init__(self, block: BlockState) -> None:
        self._block = block

    def ask(self, mask: Mask) -> tuple[Any, Any]:
        block = self._block
        if (block.waits_over[mask] == block.meetings[mask]).any():
            raise StuckError(
                f"a thread of block {block.index} waits at the barrier of the cluster, and has not arrived"
            )
        over = mask & (block.meetings <= block.cluster.generation)
        block.waits_over[over] = block.meetings[over]
        return over, mask & ~over

    def refuse(self, mask: Mask) -> Any:
        return None

    def describe(self, mask: Mask) -> list[str]:
        return [f"{int(mask.sum())} threads of block {self._block.index} wait at the barrier of the cluster"]


def arrive(block: BlockState, instruction: Instruction, mask: Mask) -> None:
    """`barrier.cluster.arrive`."""
    if not set(instruction.modifiers[2:]) <= {"release", "relaxed", "aligned"}:
        raise UnknownInstructionError(str(instruction))
    if (block.meetings[mask] > block.waits_over[mask]).any():
        raise StuckError(f"{instruction}: a thread of block {block.index} arrives again before it has waited")
    if "relaxed" not in instruction.modifiers:
        block.rooms["shared"].meet(mask)
    block.meetings += mask
    block.cluster.meet()


# addresses --------------------------------------------------------------------------------------------------------
def mapped(block: BlockState, instruction: Instruction) -> Callable[[Any], None]:
    """`mapa`: an address of shared memory, to the same place of another block. Of a block that is not there it is an
    address that nobody may use: LLVM computes it before it asks."""
    to, source, rank = instruction.operands
    is_narrow = instruction.modifiers == ("shared::cluster", "u32")
    if not is_narrow and instruction.modifiers not in (("u64",), ("shared::cluster", "u64")):
        raise UnknownInstructionError(str(instruction))
    kind = instruction.modifiers[-1]
    read, ranks = block.registers.reader(source, kind), block.registers.reader(rank, "u32")
    write = block.registers.writer(to, kind)

    def run(mask: Mask) -> None:
        address = read().astype(np.uint64)
        if instruction.modifiers == ("u64",) and (address[mask] < WINDOWS["shared"]).any():
            raise StuckError(f"{instruction}: no address of shared memory")
        kept = address & ~np.uint64(((1 << 32 - PEER) - 1) << PEER)
        given = np.minimum(ranks(), (1 << 32 - PEER) - 1).astype(np.uint64)
        write((kept | given << np.uint64(PEER)).astype(f"u{8 if kind == 'u64' else 4}"), mask)

    return run


def rank_of(block: BlockState, instruction: Instruction) -> Callable[[Any], None]:
    """`getctarank`."""
    to, source = instruction.operands
    if instruction.modifiers[-1] not in ("u32", "u64") or instruction.modifiers[:-1] not in ((), ("shared::cluster",)):
        raise UnknownInstructionError(str(instruction))
    read, write = block.registers.reader(source, instruction.modifiers[-1]), block.registers.writer(to, "u32")
    return lambda mask: write((read().astype(np.uint64) >> np.uint64(PEER)).astype(np.uint32) & np.uint32(255), mask)


def special_registers(block: BlockState, grid: Dims) -> dict[str, Any]:
    """Where a block is in its cluster, and that in the grid."""
    shape = block.cluster.shape
    count = shape[0] * shape[1] * shape[2]
    names: dict[str, Any] = {"%cluster_ctarank": block.rank, "%cluster_nctarank": count}
    names["%is_explicit_cluster"] = int(count > 1)
    for place, axis in enumerate("xyz"):
        names[f"%cluster_nctaid.{axis}"] = shape[place]
        names[f"%nclusterid.{axis}"] = grid[place] // shape[place]
        names[f"%cluster_ctaid.{axis}"] = lambda place=place: block.index[place] % shape[place]
        names[f"%clusterid.{axis}"] = lambda place=place: block.index[place] // shape[place]
    return names
