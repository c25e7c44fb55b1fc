"""Tensor memory (TMEM) of a block: 128 lanes of 512 columns of words, who has allocated which, and what is under way.

An address has the lane from bit 16 on and the column from bit 0 on. Nothing is in a column until something is written
there: words begin as junk. Allocations are as high as there is room, so that a kernel which does not read the address
that it was given finds none of its columns.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from triptych.ptxsim.conversions import Mask
from triptych.ptxsim.operands import WARP, BlockState
from triptych.ptxsim.reading import Instruction

LANES, COLUMNS = 128, 512
LANE_SHIFT = 16
_FEWEST = 32
_JUNK = 0xFFFDFFFD
"""No number in any float type of 16 bits or more."""
_NAME = re.compile(r"%[\w$]+")
_NEVER, _HELD, _FREED = range(3)
_STATES = {_NEVER: "not allocated", _FREED: "freed"}


class TensorMemoryError(Exception):
    """What `tcgen05` forbids."""


@dataclass(slots=True)
class Transfer:
    """A load or a store of a warp that is under way; registers of a load may be used: then it is complete."""

    what: str
    warp: int
    first: int
    columns: int
    registers: frozenset[str]
    """Those that it writes; a store has read its own."""
    act: Callable[[], None]
    is_done: bool = False

    def finish(self, *, only_reads: bool = False) -> None:
        if not self.is_done:
            self.is_done = True
            self.act()


@dataclass(slots=True)
class Issued:
    """A product, a copy or a commit of one thread."""

    what: str
    act: Callable[[], None]
    is_commit: bool = False
    is_local: bool = False
    """A commit to an mbarrier of its own block."""


class IssueQueue:
    """What one thread has issued: it happens in this order, at the latest when a commit must arrive."""

    def __init__(self) -> None:
        self.entries: deque[Issued] = deque()

    def until_commit(self) -> None:
        """Everything up to the next commit, and that."""
        while self.entries:
            entry = self.entries.popleft()
            entry.act()
            if entry.is_commit:
                return


@dataclass(slots=True)
class _Commit:
    """One that will arrive."""

    what: str
    queue: IssueQueue

    @property
    def may_be_last(self) -> bool:
        """Nothing is left that it could tell of, and nobody else's memory is told."""
        return all(entry.is_local for entry in self.queue.entries)

    def run(self) -> None:
        self.queue.until_commit()


class TensorMemory:
    """That of one block."""

    def __init__(self, block: BlockState) -> None:
        self._block = block
        self.words = np.full((LANES, COLUMNS), _JUNK, np.uint32)
        self.start()

    def start(self) -> None:
        """A new block begins."""
        self.words[:] = _JUNK
        self._states = np.full(COLUMNS, _NEVER)
        self._held: dict[int, int] = {}
        """By the first column: how many, and the warp that has allocated them."""
        self._largest = COLUMNS
        self._may_allocate = True
        self._group: int | None = None
        self.history: list[tuple[int, int]] = []
        """Columns that were allocated, first and number."""
        self.transfers: list[Transfer] = []
        self._queues: dict[int, IssueQueue] = {}

    # rules ---------------------------------------------------------------------------------------------------------
    def enter(self, group: int, what: str) -> None:
        """All instructions of a kernel are of one block, or all of them are of pairs."""
        if self._group not in (None, group):
            raise TensorMemoryError(f"{what}: others of this kernel have cta_group::{self._group}")
        self._group = group

    def check(self, first: int, columns: int, what: str) -> None:
        """Somebody touches columns."""
        if first + columns > COLUMNS:
            raise TensorMemoryError(f"{what}: columns {first} to {first + columns - 1} of {COLUMNS}")
        states = self._states[first : first + columns]
        if (wrong := np.flatnonzero(states != _HELD)).size:
            state = _STATES[int(states[wrong[0]])]
            raise TensorMemoryError(f"{what}: column {first + int(wrong[0])} is {state}")

    # allocation ----------------------------------------------------------------------------------------------------
    def allocate(self, columns: int, what: str) -> int:
        if columns not in (32, 64, 128, 256, 512):
            raise TensorMemoryError(f"{what}: {columns} columns, which is no power of two from {_FEWEST} to {COLUMNS}")
        if not self._may_allocate:
            raise TensorMemoryError(f"{what}: the permit was given up before")
        if columns > self._largest:
            raise TensorMemoryError(f"{what}: {columns} columns after {self._largest}: allocations may not grow")
        starts = range(COLUMNS - columns, -1, -columns)
        found = next((first for first in starts if (self._states[first : first + columns] != _HELD).all()), None)
        if found is None:
            raise TensorMemoryError(f"{what}: it waits for ever, for {columns} columns that the block holds itself")
        self._largest = columns
        self._states[found : found + columns] = _HELD
        self._held[found] = columns
        self.history.append((found, columns))
        return found

    def free(self, address: int, columns: int, what: str) -> None:
        if address >> LANE_SHIFT or address not in self._held:
            lane, column = address >> LANE_SHIFT, address & (1 << LANE_SHIFT) - 1
            before = any(first == address for first, _ in self.history)
            state = "was freed before" if before else "is the beginning of no allocation"
            raise TensorMemoryError(f"{what}: lane {lane}, column {column} {state}")
        held = self._held[address]
        if held != columns:
            raise TensorMemoryError(f"{what}: {columns} columns are freed, and {held} were allocated at {address}")
        for each in self.transfers:
            if not each.is_done and each.first < address + columns and address < each.first + each.columns:
                raise TensorMemoryError(f"{what}: column {each.first} is freed while this is under way: {each.what}")
        del self._held[address]
        self._states[address : address + columns] = _FREED
        self.words[:, address : address + columns] = _JUNK

    def give_up(self) -> None:
        """`relinquish_alloc_permit`."""
        self._may_allocate = False

    def end(self) -> None:
        """The block has ended."""
        where = f"block {self._block.index} has ended"
        for first, columns in self._held.items():
            raise TensorMemoryError(f"{where}, and columns {first} to {first + columns - 1} are still allocated")
        for queue in self._queues.values():
            if queue.entries:
                raise TensorMemoryError(f"{where}, and nobody has waited for {queue.entries[0].what}")
        if self._group == 2:
            peer: TensorMemory = self._block.cluster.blocks[self._block.rank ^ 1].tensor
            if peer.history != self.history:
                raise TensorMemoryError(f"{where}, and its peer has not allocated the same columns")

    # loads and stores ----------------------------------------------------------------------------------------------
    def begin(self, transfer: Transfer) -> None:
        self._block.cluster.issue_store(transfer)
        if not transfer.is_done:
            self.transfers.append(transfer)

    def before(self, instruction: Instruction, mask: Mask) -> None:
        """Threads are about to use registers: loads to them complete."""
        for each in self.transfers:
            warp = slice(each.warp * WARP, (each.warp + 1) * WARP)
            if mask[warp].any() and not each.registers.isdisjoint(_registers(instruction)):
                each.finish()
        self._forget()

    def wait(self, mask: Mask, *, loads: bool) -> None:
        """`wait::ld` and `wait::st` of warps."""
        for each in self.transfers:
            if mask[each.warp * WARP] and bool(each.registers) == loads:
                each.finish()
        self._forget()

    def _forget(self) -> None:
        self.transfers = [each for each in self.transfers if not each.is_done]

    # products, copies, commits -------------------------------------------------------------------------------------
    def issue(self, thread: int, what: str, act: Callable[[], None]) -> None:
        queue = self._queues.setdefault(thread, IssueQueue())
        queue.entries.append(Issued(what, act))
        has_commit = any(entry.is_commit for entry in queue.entries)
        if not has_commit and self._block.cluster.happens_now():
            queue.until_commit()

    def commit(self, thread: int, what: str, arrive: Callable[[], None], *, is_local: bool) -> None:
        queue = self._queues.setdefault(thread, IssueQueue())
        queue.entries.append(Issued(what, arrive, is_commit=True, is_local=is_local))
        self._block.cluster.issue(_Commit(what, queue))


@cache
def _registers(instruction: Instruction) -> frozenset[str]:
    """The names among its operands."""
    return frozenset(name for operand in instruction.operands for name in _NAME.findall(operand))


def parted(address: int, what: str) -> tuple[int, int]:
    """The lane and the column of an address."""
    lane, column = address >> LANE_SHIFT, address & (1 << LANE_SHIFT) - 1
    if lane >= LANES or column >= COLUMNS:
        raise TensorMemoryError(f"{what}: {address:#010x} is no address of tensor memory")
    return lane, column


def group_of(instruction: Instruction) -> int:
    """How many blocks an instruction is of."""
    return 2 if "cta_group::2" in instruction.modifiers else 1


def peers_of(block: BlockState, ctas: int, what: str) -> list[Any]:
    """The blocks of an instruction: this one, or the pair of an even rank and the next."""
    if ctas == 1:
        return [block]
    first = block.rank & ~1
    peers = block.cluster.blocks[first : first + 2]
    if len(peers) < 2:
        raise TensorMemoryError(f"{what}: a cluster of {len(block.cluster.blocks)} has no peer of rank {first + 1}")
    for peer in peers:
        if not peer.alive.any():
            raise TensorMemoryError(f"{what}: block {peer.index} has ended")
    return list(peers)
