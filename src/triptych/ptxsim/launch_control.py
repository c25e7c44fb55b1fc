"""Cluster launch control: a running cluster asks for another one of its grid, which then never starts by itself.

A response has a form of this file's own: the index of the first block of the cluster, and a mark. A seed may refuse
while there are clusters left, which start by themselves then; a GPU may, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from triptych.ptxsim.accesses import shared_address
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.bulk_copies import Load
from triptych.ptxsim.conversions import Mask
from triptych.ptxsim.memory import AccessError
from triptych.ptxsim.operands import BlockState, Dims, listed
from triptych.ptxsim.reading import Instruction

Run = Callable[[Any], None]
_GIVEN, _REFUSED = 0x600DC1C0, 0x0BADC1C0
_PEER = 24
"""Bits of an address in the shared memory of one block."""
_TRY = ("try_cancel", "async")
_TRY_REST = {"shared::cta", "mbarrier::complete_tx::bytes", "multicast::cluster::all", "b128"}
_BYTES = 16


class LaunchControlError(Exception):
    """What launch control forbids."""


class Unstarted:
    """The clusters of a grid that have not begun."""

    def __init__(self, numbers: Iterable[int], grid: Dims, cluster: Dims) -> None:
        self._numbers = deque(numbers)
        self._counts = grid[0] // cluster[0], grid[1] // cluster[1]
        self._cluster = cluster

    def take(self) -> Dims | None:
        """The first block of the next one; None where all have begun."""
        if not self._numbers:
            return None
        number = self._numbers.popleft()
        columns, rows = self._counts
        x, y, z = self._cluster
        return number % columns * x, number // columns % rows * y, number // columns // rows * z


def launch_control(block: BlockState, instruction: Instruction) -> Run:
    """What threads do, each for itself."""
    words = instruction.modifiers
    if words[:2] == _TRY and set(words[2:]) <= _TRY_REST and len(instruction.operands) == 2:
        return _try(block, instruction)
    if words[0] == "query_cancel" and words[-1] == "b128" and len(instruction.operands) == 2:
        return _query(block, instruction)
    raise UnknownInstructionError(str(instruction))


def _try(block: BlockState, instruction: Instruction) -> Run:
    to, barrier = instruction.operands
    space = "shared" if "shared::cta" in instruction.modifiers else ""
    target, signalled = (shared_address(block, each, space) for each in (to, barrier))
    what = str(instruction)

    def response() -> Any:
        found = None if block.cluster.refuses_work() else block.cluster.unstarted.take()
        words = (0, 0, 0, _REFUSED) if found is None else (*found, _GIVEN)
        return np.array(words, np.uint32).view(np.uint8)

    def act(thread: int) -> None:
        address, signal = int(target()[thread]), int(signalled()[thread])
        if address % _BYTES:
            raise AccessError(f"{what}: {address:#x} is no multiple of {_BYTES}")
        if block.was_refused:
            raise LaunchControlError(f"{what}: block {block.index} asks again after it has learnt that nothing is left")
        ranks = [block.rank]
        if "multicast::cluster::all" in instruction.modifiers:
            ranks = list(range(len(block.cluster.blocks)))
        low = (1 << _PEER) - 1
        targets = [
            ((rank << _PEER | address & low) + np.arange(_BYTES), rank << _PEER | signal & low) for rank in ranks
        ]
        block.cluster.issue(Load(block, f"{what} of block {block.index}", response, targets))

    def run(mask: Mask) -> None:
        for thread in np.flatnonzero(mask).tolist():
            act(thread)

    return run


def _query(block: BlockState, instruction: Instruction) -> Run:
    to, source = instruction.operands
    words, what = instruction.modifiers[1:-1], str(instruction)
    handle = block.registers.pair(source)
    names = listed(to)
    places: dict[tuple[str, ...], range] = {("get_first_ctaid", "v4", "b32"): range(3)}
    places |= {(f"get_first_ctaid::{axis}", "b32"): range(place, place + 1) for place, axis in enumerate("xyz")}
    asks = words == ("is_canceled", "pred")
    if not asks and words not in places:
        raise UnknownInstructionError(what)
    writers = [block.registers.writer(name, "pred" if asks else "b32") for name in names]

    def run(mask: Mask) -> None:
        found = np.ascontiguousarray(handle).view(np.uint32)
        given = found[:, 3] == _GIVEN
        if (mask & ~given & (found[:, 3] != _REFUSED)).any():
            raise LaunchControlError(f"{what}: these 16 bytes are no response")
        if asks:
            block.was_refused |= bool((mask & ~given).any())
            writers[0](given, mask)
            return
        if (mask & ~given).any():
            raise LaunchControlError(f"{what}: nothing was cancelled")
        for write, place in zip(writers, places[words], strict=False):
            write(found[:, place].copy(), mask)

    return run
