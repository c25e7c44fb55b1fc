"""Mbarriers in shared memory: they count arrivals, and transaction bytes, of one phase after another.

The bytes are packed in a way of this file's own: arrivals missing, arrivals of each phase, bytes under way, the parity
of the phase, and a mark without which it was never initialised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from triptych.ptxsim.accesses import land, peer_at, shared_address, space_of
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.conversions import Mask
from triptych.ptxsim.operands import BlockState
from triptych.ptxsim.reading import Instruction

Run = Callable[[Any], None]
_MOST = (1 << 20) - 1
_MARK = 0b01
_ORDERS = {"release", "acquire", "relaxed", "cta", "cluster", "shared", "shared::cta", "b64"}
"""Words that say how, and make no difference here: threads see each other's stores in one order."""


class BarrierError(Exception):
    """What nobody may do to an mbarrier."""


@dataclass(slots=True)
class State:
    """What the eight bytes say."""

    pending: int
    expected: int
    bytes: int = 0
    parity: int = 0

    def pack(self) -> int:
        if not 0 <= self.pending <= _MOST or not 0 <= self.expected <= _MOST:
            raise BarrierError(f"{self.pending} of {self.expected} arrivals are missing: it counts up to {_MOST}")
        if abs(self.bytes) > _MOST:
            raise BarrierError(f"{self.bytes} bytes are under way: an mbarrier counts {_MOST}")
        return self.pending | self.expected << 20 | self.bytes + _MOST << 40 | self.parity << 61 | _MARK << 62

    def __str__(self) -> str:
        return f"{self.pending} of {self.expected} arrivals and {self.bytes} bytes are missing"


class Mbarrier:
    """The one at an address of a block."""

    def __init__(self, block: BlockState, address: int) -> None:
        self._block = block
        room = block.rooms["shared"]
        self.offset = address - room.base
        _, place = room.places(np.array([address], np.uint64), 0, 8)
        self._words, self._place = room.words(8)[0], int(place[0])

    def __str__(self) -> str:
        return f"the mbarrier at byte {self.offset} of block {self._block.index}"

    @property
    def state(self) -> State:
        word = int(self._words[self._place])
        if word >> 62 != _MARK:
            raise BarrierError(f"{self} was never initialised")
        return State(word & _MOST, word >> 20 & _MOST, (word >> 40 & (1 << 21) - 1) - _MOST, word >> 61 & 1)

    @property
    def word(self) -> int:
        return int(self._words[self._place])

    def init(self, count: int) -> None:
        self._keep(State(count, count))

    def forget(self) -> None:
        self._keep(self.state)
        self._words[self._place] = 0

    def change(self, *, arrivals: int = 0, bytes: int = 0, dropped: int = 0, raised: int = 0) -> int:
        """Arrivals and bytes that are expected (or, negative, have come); the word that it was before."""
        state, before = self.state, self.word
        state.bytes += bytes
        state.expected -= dropped
        state.pending += raised - arrivals
        if state.pending < 0:
            raise BarrierError(f"{self}: more have arrived than the {state.expected} that it counts")
        if (arrivals or bytes) and not state.pending and not state.bytes:
            state.parity ^= 1
            state.pending = state.expected
            self._block.cluster.wake()
        self._keep(state)
        return before

    def _keep(self, state: State) -> None:
        try:
            self._words[self._place] = state.pack()
        except BarrierError as error:
            raise BarrierError(f"{self}: {error}") from None


def mbarrier_at(block: BlockState, address: int) -> Mbarrier:
    """Of this block or another of its cluster, by an address of shared memory."""
    return Mbarrier(peer_at(block, address), address)


# instructions -----------------------------------------------------------------------------------------------------
def changing(block: BlockState, instruction: Instruction) -> Run:
    """`mbarrier.*`, except for the waits: each thread for itself, one after the other."""
    what, *words = instruction.modifiers
    made = _CHANGES.get(what)
    if made is None or not set(words) <= _ORDERS | {"shared::cluster", "expect_tx", "noComplete"}:
        raise UnknownInstructionError(str(instruction))
    return made(block, instruction)


def _operands(block: BlockState, instruction: Instruction) -> tuple[Any, Callable[[], Any], str]:
    """How to get the addresses and the number, and the register of the result."""
    operands = list(instruction.operands)
    result = "_" if operands[0].startswith("[") else operands.pop(0)
    if result != "_" and "shared::cluster" in instruction.modifiers:
        raise UnknownInstructionError(f"{instruction} gives no result")
    address = shared_address(block, operands[0], space_of(instruction))
    number = block.registers.reader(operands[1] if len(operands) > 1 else "1", "u32")
    return address, number, result


def _each(block: BlockState, instruction: Instruction, act: Callable[[Mbarrier, int], int]) -> Run:
    address, number, result = _operands(block, instruction)
    write = block.registers.writer(result, "b64")
    where, is_own = str(instruction), "shared::cluster" not in instruction.modifiers

    def run(mask: Mask) -> None:
        addresses, numbers = address(), number()
        words = np.zeros(block.threads, np.uint64)
        for thread in np.flatnonzero(mask):
            barrier = mbarrier_at(block, int(addresses[thread]))
            if is_own and barrier._block is not block:
                raise BarrierError(f"{where}: {barrier} is another block's")
            try:
                words[thread] = act(barrier, int(numbers[thread]))
            except BarrierError as error:
                raise BarrierError(f"{where} by thread {thread} of block {block.index}: {error}") from None
        write(words, mask)

    return run


def _init(block: BlockState, instruction: Instruction) -> Run:
    def act(barrier: Mbarrier, count: int) -> int:
        barrier.init(count)
        return 0

    return _each(block, instruction, act)


def _forget(block: BlockState, instruction: Instruction) -> Run:
    def act(barrier: Mbarrier, _: int) -> int:
        barrier.forget()
        return 0

    return _each(block, instruction, act)


def _arrive(block: BlockState, instruction: Instruction) -> Run:
    """Who arrives has stored what it has stored; others may fence it when they have waited."""
    words = instruction.modifiers
    drops = words[0] == "arrive_drop"
    expects, completes = "expect_tx" in words, "noComplete" not in words

    def act(barrier: Mbarrier, number: int) -> int:
        arrivals, count = (1, number) if expects else (number, 0)
        if not completes and barrier.state.pending <= arrivals:
            raise BarrierError(f"{barrier}: this arrival would complete the phase")
        return barrier.change(arrivals=arrivals, bytes=count, dropped=arrivals if drops else 0)

    run = _each(block, instruction, act)

    def met(mask: Mask) -> None:
        block.rooms["shared"].meet(mask)
        run(mask)

    return met


def _expect(block: BlockState, instruction: Instruction) -> Run:
    sign = 1 if instruction.modifiers[0] == "expect_tx" else -1
    return _each(block, instruction, lambda barrier, number: barrier.change(bytes=sign * number))


def _pending(block: BlockState, instruction: Instruction) -> Run:
    to, source = instruction.operands
    read, write = block.registers.reader(source, "b64"), block.registers.writer(to, "b32")
    return lambda mask: write((read() & np.uint64(_MOST)).astype(np.uint32), mask)


@dataclass(slots=True)
class _Arrival:
    """Of a thread whose asynchronous copies have landed."""

    what: str
    block: BlockState
    thread: int
    barrier: Mbarrier
    may_be_last: ClassVar[bool] = False

    def run(self) -> None:
        land(self.block, self.block.numbers == self.thread)
        self.barrier.change(arrivals=1)


def arrive_after_copies(block: BlockState, instruction: Instruction) -> Run:
    """`cp.async.mbarrier.arrive`: without `noinc` the arrival is one more than the barrier counts."""
    words = instruction.modifiers[3:]
    if not set(words) <= {"noinc", "shared", "shared::cta", "b64"}:
        raise UnknownInstructionError(str(instruction))
    address = shared_address(block, instruction.operands[0], space_of(instruction))

    def run(mask: Mask) -> None:
        addresses = address()
        for thread in np.flatnonzero(mask).tolist():
            barrier = Mbarrier(block, int(addresses[thread]))
            if "noinc" not in words:
                barrier.change(raised=1)
            block.cluster.issue(_Arrival(f"{instruction} of block {block.index}", block, thread, barrier))

    return run


_CHANGES: dict[str, Callable[[BlockState, Instruction], Run]] = {
    "init": _init,
    "inval": _forget,
    "arrive": _arrive,
    "arrive_drop": _arrive,
    "expect_tx": _expect,
    "complete_tx": _expect,
    "pending_count": _pending,
}


# waits ------------------------------------------------------------------------------------------------------------
WAITS = ("try_wait", "test_wait")


class Wait:
    """`mbarrier.try_wait`: threads whose phase is not over are told so once; if they ask again at once, they stay."""

    def __init__(self, block: BlockState, instruction: Instruction, place: int) -> None:
        self.block, self.place = block, place
        words = set(instruction.modifiers[1:])
        if not words <= _ORDERS | {"parity"}:
            raise UnknownInstructionError(str(instruction))
        to, at, phase = instruction.operands[:3]
        self._by_parity = "parity" in words
        registers = block.registers
        self._address = shared_address(block, at, space_of(instruction))
        self._phase = registers.reader(phase, "u32" if self._by_parity else "u64")
        self._write = registers.writer(to, "pred")

    def _barrier(self, thread: int) -> tuple[Mbarrier, int]:
        """What a thread waits at, and the parity of the phase that must be over."""
        barrier = Mbarrier(self.block, int(self._address()[thread]))
        phase = int(self._phase()[thread])
        return barrier, phase & 1 if self._by_parity else phase >> 61 & 1

    def ask(self, mask: Mask) -> tuple[Any, Any]:
        """The threads that go on, and those that stay."""
        over = np.zeros(self.block.threads, bool)
        answers: dict[tuple[int, int], bool] = {}
        addresses, phases = self._address(), self._phase()
        for thread in np.flatnonzero(mask):
            asked = int(addresses[thread]), int(phases[thread])
            if asked not in answers:
                barrier, parity = self._barrier(int(thread))
                answers[asked] = barrier.state.parity != parity
            over[thread] = answers[asked]
        again = self.block.refused == self.place
        self.block.refused[mask & over] = -1
        self.block.refused[mask & ~over] = self.place
        stay = mask & ~over & again
        self._write(over, mask & ~stay)
        return mask & ~stay, stay

    def refuse(self, mask: Mask) -> None:
        """Nothing happens any more: they are told so."""
        self._write(np.zeros(self.block.threads, bool), mask)

    def describe(self, mask: Mask) -> list[str]:
        lines: dict[str, int] = {}
        for thread in np.flatnonzero(mask):
            barrier, parity = self._barrier(int(thread))
            line = f"for {barrier} to end a phase of parity {parity}: {barrier.state}"
            lines[line] = lines.get(line, 0) + 1
        return [f"{count} threads of block {self.block.index} wait {line}" for line, count in lines.items()]
