"""Blocks of threads (CTAs): all threads of a block that are at the same instruction execute it together.

Threads that part go on from the lowest place in the code first, so that they meet again where their ways join. Where
threads wait for others (barriers, shuffles, matrix instructions) they stay until the others have come; if nobody can go
on, that is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from triptych.ptxsim.accesses import Copy, access
from triptych.ptxsim.arithmetic import UnknownInstructionError, meaning
from triptych.ptxsim.bulk_copies import Stores, bulk
from triptych.ptxsim.clusters import (
    PEER,
    Cluster,
    ClusterWait,
    StuckError,
    arrive,
    mapped,
    rank_of,
    special_registers,
)
from triptych.ptxsim.conversions import Mask, Numbers
from triptych.ptxsim.launch_control import launch_control
from triptych.ptxsim.mbarriers import WAITS, Wait, changing
from triptych.ptxsim.memory import JUNK, Room, SharedRoom
from triptych.ptxsim.operands import WARP, Dims, Registers, thread_registers
from triptych.ptxsim.reading import Instruction, Kernel, Module
from triptych.ptxsim.tensor_accesses import COLLECTIVE
from triptych.ptxsim.tensor_memory import TensorMemory
from triptych.ptxsim.umma import issued_by_threads
from triptych.ptxsim.warpgroups import THREADS, RegisterCounts, WgmmaQueue, warpgroup_instruction
from triptych.ptxsim.warps import collective

SHARED_START = 0x400
Run = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Launch:
    """What all blocks of a launch have in common."""

    gpu: Any
    module: Module
    places: dict[str, int]
    """Of the module's variables in memory."""
    kernel: Kernel
    grid: Dims
    block: Dims
    shared_bytes: int
    arguments: Sequence[bytes]


@dataclass(slots=True)
class Meeting:
    """Who waits at it, and how many have come, those who do not wait too."""

    waiting: list[tuple[int, Any]] = field(default_factory=list)
    arrived: int = 0
    wanted: int | None = None
    """None: all threads that have not ended."""


class Block:
    """The threads of a block, from their first instruction to their last. The next block has the same registers."""

    def __init__(self, launch: Launch, cluster: Cluster, rank: int) -> None:
        block, kernel = launch.block, launch.kernel
        self.kernel = kernel
        self.threads = block[0] * block[1] * block[2]
        self.gpu = launch.gpu
        self.cluster, self.rank = cluster, rank
        self.numbers = np.arange(self.threads)
        names = (
            thread_registers(self.numbers, launch.grid, block, self._index, self.gpu.clock.__next__)
            | special_registers(self, launch.grid)
            | launch.places
        )
        self._lay_out(launch, names)
        self.registers = Registers(kernel, self.threads, names)
        self.products = WgmmaQueue(self)
        self.register_counts = RegisterCounts(self.threads)
        self.tensor = TensorMemory(self)
        self._has_products = any(instruction.name == "wgmma" for instruction in kernel.instructions)
        if self._has_products:
            self.registers.wrote = self.products.wrote
        self.call_parameters: dict[str, Any] = {}
        self._code: list[Run | None] = [None] * len(kernel.instructions)
        self._waits: dict[int, Wait | ClusterWait] = {}
        self._observer = None if self.gpu.counting is None else self.gpu.counting.observer(self, kernel)

    def start(self, index: Dims) -> None:
        """From the first instruction on."""
        self.index = index
        if self._observer is not None:
            self._observer.start(index)
        self.alive = np.ones(self.threads, bool)
        self.groups: dict[int, Any] = {0: np.ones(self.threads, bool)}
        self.blocked: set[int] = set()
        self.barriers: dict[int, Meeting] = {}
        self.copies: list[Copy] = []
        """Asynchronous ones that are under way, and how many groups of them each thread has closed."""
        self.copy_groups = np.zeros(self.threads, np.int64)
        self.stores = Stores(self.threads)
        self.was_refused = False
        self.waiting: dict[int, Wait | ClusterWait] = {}
        """Places whose threads wait for something that wakes the cluster."""
        self.refused = np.full(self.threads, -1)
        """Where each thread was told last that a phase is not over."""
        self.meetings, self.waits_over = np.zeros((2, self.threads), np.int64)
        """How often each has arrived at the barrier of the cluster, and has waited there."""
        self.products.start()
        self.register_counts.start()
        self.tensor.start()
        self.rooms["shared"].start()
        self.rooms["local"].bytes[:] = JUNK

    def _index(self, axis: int) -> int:
        return self.index[axis]

    def _lay_out(self, launch: Launch, names: dict[str, Any]) -> None:
        """Variables in the shared memory of the block, the private one of its threads, and the parameters."""
        ends = {"shared": (self.rank << PEER) + SHARED_START, "local": 16}
        for variable in (*launch.module.variables, *self.kernel.variables):
            if variable.space in ends:
                start = -(-ends[variable.space] // variable.align) * variable.align
                names[variable.name] = start
                ends[variable.space] = start + (launch.shared_bytes if variable.size is None else variable.size)
        is_watched = any(each.name in _ASYNC or "bulk" in each.modifiers for each in self.kernel.instructions)
        first = self.rank << PEER
        self.rooms: dict[str, Any] = {
            "shared": SharedRoom(first, ends["shared"] - first, self.threads, is_watched=is_watched),
            "local": Room(0, ends["local"], self.threads),
            "param": Room(0, 4096),
        }
        place = 0
        for parameter, value in zip(self.kernel.parameters, launch.arguments, strict=True):
            assert len(value) == parameter.size, f"{parameter}: {len(value)} bytes"
            align = max(parameter.align, 16)
            place = -(-place // align) * align
            names[parameter.name] = place
            self.rooms["param"].bytes[0, place : place + len(value)] = np.frombuffer(value, np.uint8)
            place += len(value)

    # the course of the threads ------------------------------------------------------------------------------------
    def turn(self, number: int) -> bool:
        """The lowest place first; every now and then the highest, for whom threads in a loop may wait."""
        ready = [place for place in self.groups if place not in self.blocked and place not in self.waiting]
        if ready:
            self._advance(max(ready) if number % 64 == 63 else min(ready))
        return bool(ready)

    def _advance(self, place: int) -> None:
        """Let the threads at a place go on until they part, wait, or reach others."""
        mask = self.groups.pop(place)
        limit = min(self.groups, default=len(self.kernel.instructions))
        while mask.any():
            if place >= len(self.kernel.instructions):
                self.end(mask)
                return
            instruction = self.kernel.instructions[place]
            if self.tensor.transfers:
                self.tensor.before(instruction, mask)
            chosen = self._guarded(instruction, mask)
            if self._observer is not None and instruction.name not in _TOGETHER:
                self._observer.see(place, mask, chosen)
            if instruction.name in _COURSE:
                _COURSE[instruction.name](self, instruction, place, chosen)
                self.join(place + 1, mask & ~chosen)
                return
            self._step(place, instruction)(chosen)
            place += 1
            if place >= limit and place in self.groups:
                self.join(place, mask)
                return

    def join(self, place: int, mask: Mask) -> None:
        """Let threads be at a place."""
        if mask.any():
            self.groups[place] = self.groups.get(place, False) | mask
            self.blocked.discard(place)
            self.waiting.pop(place, None)

    def end(self, mask: Mask) -> None:
        self.alive &= ~mask
        for barrier in self.barriers.values():
            self._release(barrier)
        self.blocked.clear()
        self.cluster.meet()

    def _guarded(self, instruction: Instruction, mask: Mask) -> Any:
        if not instruction.guard:
            return mask
        guard = self.registers.reader(instruction.guard, "pred")()
        return mask & (guard != instruction.negated)

    def _step(self, place: int, instruction: Instruction) -> Run:
        """What an instruction does to the threads of a mask."""
        found = self._code[place]
        if found is None:
            made = _STEPS.get(instruction.name, bulk)
            found = made(self, instruction) or access(self, instruction) or self._computed(instruction)
            self._code[place] = found
        return found

    def _computed(self, instruction: Instruction) -> Run:
        kind, sources, function = meaning(instruction)
        registers = self.registers
        to, *operands = instruction.operands
        if instruction.name == "mov" and (to.startswith("{") or operands[0].startswith("{")):
            return self._repacked(to, operands[0], kind)
        if len(operands) != len(sources):
            raise UnknownInstructionError(str(instruction))
        readers = [registers.reader(operand, source) for operand, source in zip(operands, sources, strict=True)]
        first, _, second = to.partition("|")
        writers = [registers.writer(name, kind) for name in (first, second) if name]

        def run(mask: Mask) -> None:
            found = function(*(read() for read in readers))
            if not isinstance(found, tuple):
                found = found, ~found if second else found
            for write, values in zip(writers, found, strict=False):
                write(values, mask)
            if is_move:
                self.products.moved(to, operands[0], mask)

        is_move = self._has_products and instruction.name == "mov"
        return run

    def _repacked(self, to: str, source: str, kind: str) -> Run:
        """`mov` between a register and its parts."""
        registers = self.registers
        targets, sources = ([part.strip() for part in side.strip("{}").split(",")] for side in (to, source))
        bits = int(kind[1:])
        if bits == 128:
            return self._paired(targets, sources)

        def run(mask: Mask) -> None:
            width = bits // len(sources)
            whole = np.zeros(self.threads, np.uint64)
            for i, part in enumerate(sources):
                whole |= registers.reader(part, f"b{width}")().astype(np.uint64) << np.uint64(width * i)
            width = bits // len(targets)
            for i, part in enumerate(targets):
                values = (whole >> np.uint64(width * i)).astype(f"u{width // 8}")
                registers.writer(part, f"b{width}")(values, mask)

        return run

    def _paired(self, targets: list[str], sources: list[str]) -> Run:
        """`mov.b128` of two words of 64 bits."""
        if len(sources) == 2:
            pair = self.registers.pair(targets[0])
            words = [self.registers.reader(part, "b64") for part in sources]
            return lambda mask: np.copyto(pair, np.stack([read() for read in words], axis=1), where=mask[:, None])
        pair = self.registers.pair(sources[0])
        writers = [self.registers.writer(part, "b64") for part in targets]

        def run(mask: Mask) -> None:
            for place, write in enumerate(writers):
                write(pair[:, place].copy(), mask)

        return run

    # branches -------------------------------------------------------------------------------------------------------
    def branch(self, instruction: Instruction, place: int, mask: Mask) -> None:
        self.join(self.kernel.labels[instruction.operands[0]], mask)

    def branch_by_table(self, instruction: Instruction, place: int, mask: Mask) -> None:
        index = self.registers.reader(instruction.operands[0], "u32")()
        for number, label in enumerate(self.kernel.tables[instruction.operands[1]]):
            self.join(self.kernel.labels[label], mask & (index == number))

    def leave(self, instruction: Instruction, place: int, mask: Mask) -> None:
        self.end(mask)

    def trap(self, instruction: Instruction, place: int, mask: Mask) -> None:
        if mask.any():
            raise RuntimeError(f"trap in {self.kernel.name}")

    # meetings -------------------------------------------------------------------------------------------------------
    def barrier(self, instruction: Instruction, place: int, mask: Mask) -> None:
        """Of the block or of some of its warps."""
        if instruction.modifiers[0] == "warp":
            self.meet(instruction, place, mask)
            return
        if not mask.any():
            return
        if instruction.modifiers[0] == "cluster":
            self._cluster_barrier(instruction, place, mask)
            return
        self.rooms["shared"].meet(mask)
        words = [word for word in instruction.modifiers if word in ("sync", "arrive")]
        if not words:
            raise UnknownInstructionError(str(instruction))
        first = int(np.flatnonzero(mask)[0])
        numbers = [int(self.registers.reader(o, "u32")()[first]) for o in instruction.operands]
        barrier = self.barriers.setdefault(numbers[0], Meeting())
        barrier.wanted = numbers[1] if len(numbers) > 1 else None
        barrier.arrived += int(mask.sum())
        if words[0] == "sync":
            barrier.waiting.append((place + 1, mask))
        else:
            self.join(place + 1, mask)
        self._release(barrier)

    def _release(self, barrier: Meeting) -> None:
        wanted = int(self.alive.sum()) if barrier.wanted is None else barrier.wanted
        if barrier.arrived and barrier.arrived >= wanted:
            for place, mask in barrier.waiting:
                self.join(place, mask)
            barrier.waiting, barrier.arrived = [], 0

    def meet(self, instruction: Instruction, place: int, mask: Mask) -> None:
        """An instruction that lanes of a warp do together: those whose partners are all here go on."""
        if not mask.any():
            return
        members, act = collective(self, instruction)
        ready = self._complete(members, mask)
        if ready.any():
            if self._observer is not None and instruction.name in _TOGETHER:
                self._observer.see(place, ready, ready)
            act(ready)
            self.join(place + 1, ready)
        if (mask & ~ready).any():
            self.join(place, mask & ~ready)
            self.blocked.add(place)

    def _complete(self, members: Numbers, mask: Mask) -> Any:
        ready = np.zeros(self.threads, bool)
        for start in range(0, self.threads, WARP):
            warp = slice(start, min(start + WARP, self.threads))
            lanes = np.arange(warp.stop - start)
            here, alive = mask[warp], self.alive[warp]
            for wanted in np.unique(members[warp][here]):
                named = (int(wanted) >> lanes & 1).astype(bool)
                group = here & (members[warp] == wanted)
                if (group & ~named).any():
                    raise StuckError(f"a lane that {int(wanted):#x} does not name, in {self.kernel.name}")
                if not (named & alive & ~group).any():
                    ready[warp] |= group
        return ready

    # waits ----------------------------------------------------------------------------------------------------------
    def mbarrier(self, instruction: Instruction, place: int, mask: Mask) -> None:
        """A wait, or what each thread does at once."""
        if instruction.modifiers[0] not in WAITS:
            self._step(place, instruction)(mask)
            self.join(place + 1, mask)
            return
        if place not in self._waits:
            self._waits[place] = Wait(self, instruction, place)
        self._wait(place, mask)

    def tensor_map(self, instruction: Instruction, place: int, mask: Mask) -> None:
        """Each thread changes a map for itself; a warp copies one together."""
        if instruction.modifiers[0] == "replace":
            self._step(place, instruction)(mask)
            self.join(place + 1, mask)
        elif instruction.modifiers[0] == "cp_fenceproxy":
            self.meet(instruction, place, mask)
        else:
            raise UnknownInstructionError(str(instruction))

    def tensor_memory(self, instruction: Instruction, place: int, mask: Mask) -> None:
        """Whole warps move words and allocate; a thread starts products."""
        if instruction.modifiers[0] in COLLECTIVE:
            self.meet(instruction, place, mask)
            return
        if self._observer is not None:
            self._observer.see(place, mask, mask)
        self._step(place, instruction)(mask)
        self.join(place + 1, mask)

    def _cluster_barrier(self, instruction: Instruction, place: int, mask: Mask) -> None:
        if instruction.modifiers[1] == "arrive":
            arrive(self, instruction, mask)
            self.join(place + 1, mask)
        elif set(instruction.modifiers[1:]) <= {"wait", "acquire", "aligned"}:
            if place not in self._waits:
                self._waits[place] = ClusterWait(self)
            self._wait(place, mask)
        else:
            raise UnknownInstructionError(str(instruction))

    def _wait(self, place: int, mask: Mask) -> None:
        if mask.any():
            wait = self._waits[place]
            over, stay = wait.ask(mask)
            self.join(place + 1, over)
            if stay.any():
                self.join(place, stay)
                self.waiting[place] = wait

    def refuse(self) -> bool:
        """Nothing happens any more: threads that ask are told so. Whether there are any."""
        waits = [(place, wait) for place, wait in self.waiting.items() if isinstance(wait, Wait)]
        for place, wait in waits:
            mask = self.groups.pop(place)
            del self.waiting[place]
            wait.refuse(mask)
            self.join(place + 1, mask)
        return bool(waits)

    def together(self, instruction: Instruction, place: int, mask: Mask) -> None:
        """What the four warps of a warpgroup do when all of them are here. The last one of a block may have fewer,
        which cannot multiply."""
        if not mask.any():
            return
        starts = range(0, self.threads, THREADS)
        ready = np.zeros(self.threads, bool)
        for start in starts:
            ready[start : start + THREADS] = start + THREADS <= self.threads and mask[start : start + THREADS].all()
        if ready.any():
            found = self._code[place]
            if found is None:
                found = self._code[place] = warpgroup_instruction(self, instruction)
            if self._observer is not None:
                self._observer.see(place, ready, ready)
            found(ready)
            self.join(place + 1, ready)
        if (mask & ~ready).any():
            self.join(place, mask & ~ready)
            self.blocked.add(place)

    def where(self) -> list[str]:
        """Who is still there, and what for."""
        lines = []
        for place, mask in self.groups.items():
            if place in self.waiting:
                lines += self.waiting[place].describe(mask)
            lines.append(f"{mask.sum()} threads at {self.kernel.instructions[place]}")
        for number, barrier in self.barriers.items():
            lines += [f"{mask.sum()} threads at barrier {number}" for _, mask in barrier.waiting]
        return lines


_WARP_INSTRUCTIONS = ("shfl", "vote", "redux", "match", "ldmatrix", "stmatrix", "mma", "movmatrix", "elect")
_ASYNC = ("wgmma", "tcgen05")
"""Instructions that read shared memory by the asynchronous proxy."""
_TOGETHER = frozenset((*_WARP_INSTRUCTIONS, "wgmma", "setmaxnreg", "tcgen05"))
"""Instructions that threads may come to one after another: they are counted when they are done."""
_COURSE: dict[str, Callable[[Block, Instruction, int, Any], None]] = {
    "bra": Block.branch,
    "brx": Block.branch_by_table,
    "ret": Block.leave,
    "exit": Block.leave,
    "trap": Block.trap,
    "bar": Block.barrier,
    "barrier": Block.barrier,
    **dict.fromkeys(_WARP_INSTRUCTIONS, Block.meet),
    "mbarrier": Block.mbarrier,
    "tensormap": Block.tensor_map,
    "wgmma": Block.together,
    "setmaxnreg": Block.meet,
    "tcgen05": Block.tensor_memory,
}
_STEPS: dict[str, Callable[[Block, Instruction], Run | None]] = {
    "mbarrier": changing,
    "mapa": mapped,
    "getctarank": rank_of,
    "tcgen05": issued_by_threads,
    "clusterlaunchcontrol": launch_control,
}
