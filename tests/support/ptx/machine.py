"""Runs a grid: blocks one after another, in each of them all threads that are at the same instruction together.

Threads that part go on from the lowest place in the code first, so that they meet again where their ways join. Where
threads wait for others (barriers, shuffles, matrix instructions) they stay until the others have come; if nobody can go
on, that is an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tests.support.ptx.accesses import Copy, access
from tests.support.ptx.arithmetic import UnknownInstructionError, meaning
from tests.support.ptx.memory import JUNK, Memory, Room
from tests.support.ptx.operands import WARP, Registers
from tests.support.ptx.reading import Instruction, Kernel, Module, read
from tests.support.ptx.warps import collective

SHARED_START = 0x400
GLOBAL_START = 1 << 58
"""No address of the CPU is as large."""
Dims = tuple[int, int, int]
Run = Callable[[Any], None]


class StuckError(Exception):
    """Threads wait for each other for ever."""


@dataclass(slots=True)
class Barrier:
    """Who waits at it, and how many have come, those who do not wait too."""

    waiting: list[tuple[int, Any]] = field(default_factory=list)
    arrived: int = 0
    wanted: int | None = None
    """None: all threads that have not ended."""


class Gpu:
    """Memory and modules."""

    def __init__(self) -> None:
        self.memory = Memory(GLOBAL_START)
        self.printed: list[str] = []
        self.clock = itertools.count(1)

    def load(self, text: str) -> LoadedModule:
        """A module, with its variables in memory."""
        module = read(text)
        variables = [variable for variable in module.variables if variable.space in ("global", "const")]
        rooms = {variable.name: self.memory.allocate(variable.size or 0) for variable in variables}
        places = {name: room.base for name, room in rooms.items()}
        for variable in variables:
            numbers = [places[first] if isinstance(first, str) else first for first in variable.first]
            bits = [number % (1 << 8 * variable.each) for number in numbers]
            words = np.array(bits, f"u{variable.each}").view(np.uint8)
            rooms[variable.name].bytes[0, : variable.size] = 0
            rooms[variable.name].bytes[0, : len(words)] = words
        return LoadedModule(self, module, places)


@dataclass(slots=True)
class LoadedModule:
    """Kernels that can be launched."""

    gpu: Gpu
    module: Module
    places: dict[str, int]

    def launch(self, name: str, grid: Dims, block: Dims, shared_bytes: int, arguments: Sequence[bytes]) -> None:
        kernel = self.module.kernels[name]
        with np.errstate(all="ignore"):
            running = Block(self, kernel, grid, block, shared_bytes, arguments)
            for z, y, x in itertools.product(*(range(extent) for extent in reversed(grid))):
                running.run((x, y, z))


class Block:
    """The threads of a block, from their first instruction to their last. The next block has the same registers."""

    def __init__(
        self,
        loaded: LoadedModule,
        kernel: Kernel,
        grid: Dims,
        block: Dims,
        shared_bytes: int,
        arguments: Sequence[bytes],
    ) -> None:
        self.kernel = kernel
        self.threads = block[0] * block[1] * block[2]
        self.gpu = loaded.gpu
        self.numbers = np.arange(self.threads)
        names = self._special(grid, block) | loaded.places
        self._lay_out(loaded.module, names, shared_bytes, arguments)
        self.registers = Registers(kernel, self.threads, names)
        self.call_parameters: dict[str, Any] = {}
        self._code: list[Run | None] = [None] * len(kernel.instructions)
        self._start((0, 0, 0))

    def _start(self, index: Dims) -> None:
        self.index = index
        self.alive = np.ones(self.threads, bool)
        self.groups: dict[int, Any] = {0: np.ones(self.threads, bool)}
        self.blocked: set[int] = set()
        self.barriers: dict[int, Barrier] = {}
        self.copies: list[Copy] = []
        """Asynchronous ones that are under way, and how many groups of them each thread has closed."""
        self.copy_groups = np.zeros(self.threads, np.int64)
        for space in ("shared", "local"):
            self.rooms[space].bytes[:] = JUNK

    def _special(self, grid: Dims, block: Dims) -> dict[str, Any]:
        x, y = self.numbers % block[0], self.numbers // block[0] % block[1]
        names: dict[str, Any] = {"%laneid": self.numbers % WARP, "%warpid": self.numbers // WARP, "WARP_SZ": WARP}
        names |= dict.fromkeys(("%clock", "%clock64", "%globaltimer"), self.gpu.clock.__next__)
        threads = (x, y, self.numbers // (block[0] * block[1]))
        for place, (axis, thread, extent, count) in enumerate(zip("xyz", threads, block, grid, strict=True)):
            names |= {f"%tid.{axis}": thread, f"%ntid.{axis}": extent, f"%nctaid.{axis}": count}
            names[f"%ctaid.{axis}"] = partial(self._index, place)
        lanes = self.numbers % WARP
        names |= {"%lanemask_lt": (1 << lanes) - 1, "%lanemask_le": (2 << lanes) - 1, "%lanemask_eq": 1 << lanes}
        every = (1 << WARP) - 1
        names |= {"%lanemask_gt": every - ((2 << lanes) - 1), "%lanemask_ge": every - ((1 << lanes) - 1)}
        return names

    def _index(self, axis: int) -> int:
        return self.index[axis]

    def _lay_out(self, module: Module, names: dict[str, Any], shared_bytes: int, arguments: Sequence[bytes]) -> None:
        """Variables in the shared memory of the block, the private one of its threads, and the parameters."""
        ends = {"shared": SHARED_START, "local": 16}
        for variable in (*module.variables, *self.kernel.variables):
            if variable.space in ends:
                start = -(-ends[variable.space] // variable.align) * variable.align
                names[variable.name] = start
                ends[variable.space] = start + (shared_bytes if variable.size is None else variable.size)
        self.rooms = {
            "shared": Room(0, ends["shared"]),
            "local": Room(0, ends["local"], self.threads),
            "param": Room(0, 4096),
        }
        place = 0
        for parameter, value in zip(self.kernel.parameters, arguments, strict=True):
            assert len(value) == parameter.size, f"{parameter}: {len(value)} bytes"
            place = -(-place // 16) * 16
            names[parameter.name] = place
            self.rooms["param"].bytes[0, place : place + len(value)] = np.frombuffer(value, np.uint8)
            place += len(value)

    # the course of the threads ------------------------------------------------------------------------------------
    def run(self, index: Dims) -> None:
        """The lowest place first; every now and then the highest, for whom threads in a loop may wait."""
        self._start(index)
        for turn in itertools.count():
            ready = [place for place in self.groups if place not in self.blocked]
            if not ready:
                break
            self._advance(max(ready) if turn % 64 == 63 else min(ready))
        if self.groups or any(barrier.waiting for barrier in self.barriers.values()):
            raise StuckError(self._where())

    def _advance(self, place: int) -> None:
        """Let the threads at a place go on until they part, wait, or reach others."""
        mask = self.groups.pop(place)
        limit = min(self.groups, default=len(self.kernel.instructions))
        while mask.any():
            if place >= len(self.kernel.instructions):
                self.end(mask)
                return
            instruction = self.kernel.instructions[place]
            if instruction.name in _COURSE:
                chosen = self._guarded(instruction, mask)
                _COURSE[instruction.name](self, instruction, place, chosen)
                self.join(place + 1, mask & ~chosen)
                return
            self._step(place, instruction)(self._guarded(instruction, mask))
            place += 1
            if place >= limit and place in self.groups:
                self.join(place, mask)
                return

    def join(self, place: int, mask: Any) -> None:
        """Let threads be at a place."""
        if mask.any():
            self.groups[place] = self.groups.get(place, False) | mask
            self.blocked.discard(place)

    def end(self, mask: Any) -> None:
        self.alive &= ~mask
        for barrier in self.barriers.values():
            self._release(barrier)
        self.blocked.clear()

    def _guarded(self, instruction: Instruction, mask: Any) -> Any:
        if not instruction.guard:
            return mask
        guard = self.registers.reader(instruction.guard, "pred")()
        return mask & (guard != instruction.negated)

    def _step(self, place: int, instruction: Instruction) -> Run:
        """What an instruction does to the threads of a mask."""
        found = self._code[place]
        if found is None:
            found = self._code[place] = access(self, instruction) or self._computed(instruction)
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

        def run(mask: Any) -> None:
            found = function(*(read() for read in readers))
            if not isinstance(found, tuple):
                found = found, ~found if second else found
            for write, values in zip(writers, found, strict=False):
                write(values, mask)

        return run

    def _repacked(self, to: str, source: str, kind: str) -> Run:
        """`mov` between a register and its parts."""
        registers = self.registers
        targets, sources = ([part.strip() for part in side.strip("{}").split(",")] for side in (to, source))
        bits = int(kind[1:])

        def run(mask: Any) -> None:
            width = bits // len(sources)
            whole = np.zeros(self.threads, np.uint64)
            for i, part in enumerate(sources):
                whole |= registers.reader(part, f"b{width}")().astype(np.uint64) << np.uint64(width * i)
            width = bits // len(targets)
            for i, part in enumerate(targets):
                values = (whole >> np.uint64(width * i)).astype(f"u{width // 8}")
                registers.writer(part, f"b{width}")(values, mask)

        return run

    # branches -------------------------------------------------------------------------------------------------------
    def branch(self, instruction: Instruction, place: int, mask: Any) -> None:
        self.join(self.kernel.labels[instruction.operands[0]], mask)

    def branch_by_table(self, instruction: Instruction, place: int, mask: Any) -> None:
        index = self.registers.reader(instruction.operands[0], "u32")()
        for number, label in enumerate(self.kernel.tables[instruction.operands[1]]):
            self.join(self.kernel.labels[label], mask & (index == number))

    def leave(self, instruction: Instruction, place: int, mask: Any) -> None:
        self.end(mask)

    def trap(self, instruction: Instruction, place: int, mask: Any) -> None:
        if mask.any():
            raise RuntimeError(f"trap in {self.kernel.name}")

    # meetings -------------------------------------------------------------------------------------------------------
    def barrier(self, instruction: Instruction, place: int, mask: Any) -> None:
        """Of the block or of some of its warps."""
        if instruction.modifiers[0] == "warp":
            self.meet(instruction, place, mask)
            return
        if not mask.any():
            return
        words = [word for word in instruction.modifiers if word in ("sync", "arrive")]
        if not words:
            raise UnknownInstructionError(str(instruction))
        first = int(np.flatnonzero(mask)[0])
        numbers = [int(self.registers.reader(o, "u32")()[first]) for o in instruction.operands]
        barrier = self.barriers.setdefault(numbers[0], Barrier())
        barrier.wanted = numbers[1] if len(numbers) > 1 else None
        barrier.arrived += int(mask.sum())
        if words[0] == "sync":
            barrier.waiting.append((place + 1, mask))
        else:
            self.join(place + 1, mask)
        self._release(barrier)

    def _release(self, barrier: Barrier) -> None:
        wanted = int(self.alive.sum()) if barrier.wanted is None else barrier.wanted
        if barrier.arrived and barrier.arrived >= wanted:
            for place, mask in barrier.waiting:
                self.join(place, mask)
            barrier.waiting, barrier.arrived = [], 0

    def meet(self, instruction: Instruction, place: int, mask: Any) -> None:
        """An instruction that lanes of a warp do together: those whose partners are all here go on."""
        if not mask.any():
            return
        members, act = collective(self, instruction)
        ready = self._complete(members, mask)
        if ready.any():
            act(ready)
            self.join(place + 1, ready)
        if (mask & ~ready).any():
            self.join(place, mask & ~ready)
            self.blocked.add(place)

    def _complete(self, members: Any, mask: Any) -> Any:
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

    def _where(self) -> str:
        lines = [f"{mask.sum()} threads at {self.kernel.instructions[place]}" for place, mask in self.groups.items()]
        for number, barrier in self.barriers.items():
            lines += [f"{mask.sum()} threads at barrier {number}" for _, mask in barrier.waiting]
        return "; ".join(lines)


_COURSE: dict[str, Callable[[Block, Instruction, int, Any], None]] = {
    "bra": Block.branch,
    "brx": Block.branch_by_table,
    "ret": Block.leave,
    "exit": Block.leave,
    "trap": Block.trap,
    "bar": Block.barrier,
    "barrier": Block.barrier,
    **dict.fromkeys(
        ("shfl", "vote", "redux", "match", "ldmatrix", "stmatrix", "mma", "movmatrix", "elect"), Block.meet
    ),
}
