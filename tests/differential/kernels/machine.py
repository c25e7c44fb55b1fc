"""The reference machine: runs every thread of a launch in plain Python, one at a time, until it waits for others.

Blocks run in order; the threads of a block are generators (see `suspending`) that yield what they wait for. A wait that
cannot end, or threads that wait at different places for one barrier, is a mistake of the generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import GeneratorType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.differential.kernels.collectives import ATOMICS, MEETINGS, BlockMeeting, Meeting
from tests.differential.kernels.memory import Cells, Moment, Tensor, array_of, tensor_of
from tests.differential.kernels.program import Dims, KernelProgram
from tests.differential.kernels.suspending import suspending
from tests.differential.kernels.typed import NUMBER_TYPES, Number, extreme

WARP = 32


class StuckError(Exception):
    """Threads wait for each other for ever, or meet at different places."""


@dataclass(slots=True)
class Thread:
    """A thread: where it is in the launch, its running code and what that waits for."""

    block: Dims
    index: Dims
    number: int
    """Its place in the block, x first."""
    running: GeneratorType[Meeting, Any, None] | None = None
    waiting: Meeting | None = None
    answer: Any = None

    @property
    def lane(self) -> int:
        return self.number % WARP

    @property
    def warp(self) -> int:
        return self.number // WARP

    def place(self) -> tuple[int, ...]:
        """The lines at which it waits, through the functions it has called."""
        lines = []
        frame: Any = self.running
        while isinstance(frame, GeneratorType):
            lines.append(frame.gi_frame.f_lasti if frame.gi_frame is not None else -1)
            frame = frame.gi_yieldfrom
        return tuple(lines)


@dataclass(slots=True)
class Machine:
    """One launch: what `cute` and `cute.arch` mean for the thread that is running now."""

    grid: Dims
    block: Dims
    thread: Thread = field(init=False)
    block_number: int = 0
    barriers: int = 0
    warp_barriers: dict[int, int] = field(default_factory=dict)
    shared: dict[int, Tensor] = field(default_factory=dict)
    allocations: dict[int, int] = field(default_factory=dict)

    def now(self) -> Moment:
        warp = self.thread.warp
        return Moment(self.block_number, self.barriers, warp, self.warp_barriers.get(warp, 0), self.thread.number)

    def names(self) -> dict[str, Any]:
        """What the module's text finds under its names."""
        arch = SimpleNamespace(
            thread_idx=lambda: _three(self.thread.index),
            block_idx=lambda: _three(self.thread.block),
            block_dim=lambda: _three(self.block),
            grid_dim=lambda: _three(self.grid),
            lane_idx=lambda: _int32(self.thread.lane),
            warp_idx=lambda: _int32(self.thread.warp),
            popc=lambda value: _int32((value.__index__() & 0xFFFFFFFF).bit_count()),
            **MEETINGS,
            **ATOMICS,
        )
        cute = SimpleNamespace(arch=arch, Tensor=Tensor, make_rmem_tensor=self._register_tensor, make_layout=_as_it_is)
        own = {"cute": cute, "SmemAllocator": lambda: self, "range": _range, "range_constexpr": range}
        own |= {"min": extreme(min), "max": extreme(max)}
        return {**own, **NUMBER_TYPES, "kernel": _as_it_is, "jit": _as_it_is}

    def allocate_tensor(self, dtype: Any, size: int) -> Tensor:
        """The same tensor for every thread of a block: the allocations are counted for each."""
        count = self.allocations[self.thread.number] = self.allocations.get(self.thread.number, -1) + 1
        if count not in self.shared:
            self.shared[count] = Tensor(Cells(dtype, [None] * size, self.now, is_checked=True), (size,))
        return self.shared[count]

    def _register_tensor(self, size: int, dtype: Any) -> Tensor:
        return Tensor(Cells(dtype, [None] * size, self.now, is_checked=False), (size,))

    def run(self, kernel: Callable[..., Any], arguments: Sequence[Any]) -> None:
        for number, block in enumerate(_indices(self.grid)):
            self.block_number, self.barriers = number, 0
            self.shared, self.allocations, self.warp_barriers = {}, {}, {}
            threads = [Thread(block, index, place) for place, index in enumerate(_indices(self.block))]
            for thread in threads:
                self.thread = thread
                started: Any = kernel(*arguments)
                if isinstance(started, GeneratorType):
                    thread.running = started
                    self._resume(thread)
            while waiting := [thread for thread in threads if thread.waiting is not None]:
                self._meet(waiting, threads)

    def _resume(self, thread: Thread) -> None:
        assert thread.running is not None
        self.thread = thread
        try:
            thread.waiting = thread.running.send(thread.answer)
        except StopIteration:
            thread.running = thread.waiting = None

    def _meet(self, waiting: list[Thread], threads: list[Thread]) -> None:
        """Let threads go on that are all there: a block at its barrier, or the lanes that a warp's meeting names."""
        for first, group in self._groups(waiting, threads):
            if any(thread.waiting is None or not first.is_same(thread.waiting) for thread in group):
                continue
            if len({thread.place() for thread in group}) > 1:
                raise StuckError(f"threads meet at different places: {first}")
            if isinstance(first, BlockMeeting):
                self.barriers += 1
            elif first.orders_memory:
                self.warp_barriers[group[0].warp] = self.warp_barriers.get(group[0].warp, 0) + 1
            answers = first.answers({thread.lane: thread.waiting for thread in group if thread.waiting is not None})
            for thread in group:
                thread.answer = answers[thread.lane] if answers else None
            for thread in group:
                self._resume(thread)
            return
        raise StuckError(f"threads wait for ever: {sorted({str(thread.waiting) for thread in waiting})}")

    @staticmethod
    def _groups(waiting: list[Thread], threads: list[Thread]) -> Iterator[tuple[Meeting, list[Thread]]]:
        for thread in waiting:
            meeting = thread.waiting
            assert meeting is not None
            if isinstance(meeting, BlockMeeting):
                yield meeting, [other for other in threads if other.running is not None]
            else:
                named = [other for other in threads if other.warp == thread.warp and meeting.mask >> other.lane & 1]
                yield meeting, named


def run_reference(program: KernelProgram, scalars: Sequence[int]) -> Mapping[str, NDArray[np.generic]]:
    """What the buffers hold after one call of the program."""
    machine = Machine(program.grid, program.block)
    namespace = machine.names()
    exec(compile(suspending(program.source, MEETINGS), "<reference>", "exec"), namespace)
    tensors = {b.name: tensor_of(NUMBER_TYPES[b.dtype], b.array(), machine.now) for b in program.buffers}
    machine.run(namespace["fuzzed"], [*tensors.values(), *map(_int32, scalars)])
    return {name: array_of(tensor) for name, tensor in tensors.items()}


def _indices(dims: Dims) -> Iterator[Dims]:
    for z, y, x in product(*(range(extent) for extent in reversed(dims))):
        yield x, y, z


def _three(values: Dims) -> tuple[Number, ...]:
    return tuple(map(_int32, values))


def _int32(value: int) -> Number:
    return NUMBER_TYPES["Int32"](value)


def _range(*bounds: Any) -> Iterator[Number]:
    """Python's range, whose items are Int32 as in the language."""
    return map(_int32, range(*(bound.__index__() for bound in bounds)))


def _as_it_is(function: Any = None, **_: Any) -> Any:
    """A decorator, with options or without, that changes nothing."""
    return _as_it_is if function is None else function
