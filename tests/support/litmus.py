"""Litmus tests: tiny programs of a few threads whose outcomes tell how memory is ordered, run on real threads.

Every thread of a test is a block of its own, and the pool has a thread for each, so all of them run at once. A launch
runs a test many times, each time at other places of memory and in an order drawn at random; the blocks meet again and
again, or they would drift apart and never see each other at work. What an outcome may be follows from the test:
one that no interleaving of the threads has is weak, and each test says from which order on it has none of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import CopyG2ROp, CopyR2GOp, MemoryOrder, MemoryScope
from triptych.support.config import override

INSTANCES = 1 << 14
"""Runs of a launch; each has a cache line of its own for every location."""
LINE = 16
"""Words of a cache line."""
TOGETHER = 16
"""Runs from one meeting of the blocks to the next."""
PATIENCE = 500
"""Turns that a block waits for the others: the machine may run them later."""

LONGEST = 12
"""Turns that a thread may idle before a run, so that each is some time ahead of the others or behind."""
VALUES = 3
"""Numbers that a location can hold: 0 to 2."""

ORDERS: dict[str, tuple[MemoryOrder, MemoryOrder]] = {
    "relaxed": (MemoryOrder.RELAXED, MemoryOrder.RELAXED),
    "acquire-release": (MemoryOrder.ACQUIRE, MemoryOrder.RELEASE),
    "sc": (MemoryOrder.SC, MemoryOrder.SC),
}
"""From weak to strong: the order of loads and that of stores."""


@dataclass(frozen=True, slots=True)
class Store:
    """Write a number to a location."""

    location: int
    value: int


@dataclass(frozen=True, slots=True)
class Load:
    """Read a location; what is read is a part of the outcome."""

    location: int


@dataclass(frozen=True, slots=True)
class Fence:
    """An acquire-release fence of the device."""


Step = Store | Load | Fence
Outcome = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Litmus:
    """Threads as lists of steps. From the order `strong_from` on no outcome may be weak."""

    name: str
    threads: tuple[tuple[Step, ...], ...]
    strong_from: str
    observes_memory: bool = False
    """Whether what is in memory at the end is a part of the outcome."""

    @property
    def loads(self) -> int:
        return sum(isinstance(step, Load) for steps in self.threads for step in steps)

    @property
    def locations(self) -> int:
        steps = [step for steps in self.threads for step in steps if not isinstance(step, Fence)]
        return 1 + max(step.location for step in steps)

    def forbids_weak(self, order: str) -> bool:
        names = list(ORDERS)
        return names.index(order) >= names.index(self.strong_from)

    def sequential(self) -> frozenset[Outcome]:
        """The outcomes of all interleavings."""
        return frozenset(_interleavings(self, tuple(0 for _ in self.threads), {}, {}))


def _interleavings(
    test: Litmus, at: tuple[int, ...], memory: dict[int, int], seen: dict[tuple[int, int], int]
) -> Iterator[Outcome]:
    if all(at[t] == len(steps) for t, steps in enumerate(test.threads)):
        final = tuple(memory.get(location, 0) for location in range(test.locations)) if test.observes_memory else ()
        yield tuple(seen[place] for place in sorted(seen)) + final
    for t, steps in enumerate(test.threads):
        if at[t] < len(steps):
            step, after = steps[at[t]], (*at[:t], at[t] + 1, *at[t + 1 :])
            if isinstance(step, Store):
                yield from _interleavings(test, after, {**memory, step.location: step.value}, seen)
            elif isinstance(step, Load):
                yield from _interleavings(test, after, memory, {**seen, (t, at[t]): memory.get(step.location, 0)})
            else:
                yield from _interleavings(test, after, memory, seen)


X, Y = 0, 1
_FENCE = Fence()
TESTS = (
    Litmus("store buffering", ((Store(X, 1), Load(Y)), (Store(Y, 1), Load(X))), "sc"),
    Litmus("message passing", ((Store(X, 1), Store(Y, 1)), (Load(Y), Load(X))), "acquire-release"),
    Litmus(
        "message passing, fences",
        ((Store(X, 1), _FENCE, Store(Y, 1)), (Load(Y), _FENCE, Load(X))),
        "relaxed",
    ),
    Litmus("load buffering", ((Load(X), Store(Y, 1)), (Load(Y), Store(X, 1))), "acquire-release"),
    Litmus("IRIW", ((Store(X, 1),), (Store(Y, 1),), (Load(X), Load(Y)), (Load(Y), Load(X))), "sc"),
    Litmus("WRC", ((Store(X, 1),), (Load(X), Store(Y, 1)), (Load(Y), Load(X))), "acquire-release"),
    Litmus("R", ((Store(X, 1), Store(Y, 1)), (Store(Y, 2), Load(X))), "sc", observes_memory=True),
    Litmus("S", ((Store(X, 2), Store(Y, 1)), (Load(Y), Store(X, 1))), "acquire-release", observes_memory=True),
    Litmus("2+2W", ((Store(X, 1), Store(Y, 2)), (Store(Y, 1), Store(X, 2))), "sc", observes_memory=True),
    Litmus("CoRR", ((Store(X, 1),), (Load(X), Load(X))), "relaxed"),
    Litmus("CoWW", ((Store(X, 1), Store(X, 2)), (Load(X), Load(X))), "relaxed", observes_memory=True),
    Litmus("CoRW", ((Load(X), Store(X, 1)), (Store(X, 2),)), "relaxed", observes_memory=True),
    Litmus("CoWR", ((Store(X, 1), Load(X)), (Store(X, 2), Load(X))), "relaxed", observes_memory=True),
)


@tt.kernel
def threads_of(
    memory: cute.Tensor,
    results: cute.Tensor,
    places: cute.Tensor,
    delays: cute.Tensor,
    arrived: cute.Tensor,
    test: tt.Constexpr[Litmus],
    order: tt.Constexpr[str],
    lanes: tt.Constexpr[int],
    rank: tt.Int32,
    scope: tt.Constexpr[MemoryScope],
) -> None:
    """Each block is one thread of the test; each of its lanes runs the test at places of its own. A rank has one block,
    the thread of its number."""
    block, _, _ = cute.arch.block_idx()
    block += rank
    lane, _, _ = cute.arch.thread_idx()
    loads, stores = ORDERS[order]
    load, store = (
        cute.make_copy_atom(op, tt.Int32, num_bits_per_copy=32, memory_order=chosen, memory_scope=scope)
        for op, chosen in ((CopyG2ROp(), loads), (CopyR2GOp(), stores))
    )
    first = 0
    for number in tt.range_constexpr(len(test.threads)):
        steps = test.threads[number]
        if block == number:
            for turn in range(INSTANCES // lanes):
                if turn % TOGETHER == 0:
                    meet(arrived, lane, (turn // TOGETHER + 1) * len(test.threads))
                idle(delays, number * INSTANCES + turn)
                run_steps(load, store, memory, results, places[turn * lanes + lane], steps, first)
        first += sum(isinstance(step, Load) for step in steps)


@tt.jit
def run_steps(
    load: tt.Constexpr[Any],
    store: tt.Constexpr[Any],
    memory: cute.Tensor,
    results: cute.Tensor,
    place: tt.Int32,
    steps: tt.Constexpr[tuple[Step, ...]],
    first: tt.Constexpr[int],
) -> None:
    """One thread of one run. What it has read is written down afterwards, out of the way."""
    seen = []
    for step in steps:
        if isinstance(step, Fence):
            cute.arch.fence_acq_rel_gpu()
        else:
            register = cute.make_rmem_tensor((1,), tt.Int32)
            there = cute.make_tensor(memory.iterator + (step.location * INSTANCES + place) * LINE, cute.make_layout(1))
            if isinstance(step, Store):
                register[0] = step.value
                cute.copy(store, register, there)
            else:
                cute.copy(load, there, register)
                seen.append(register)
    for i in range(len(seen)):
        results[first + i, place] = seen[i][0]


@tt.jit
def idle(delays: cute.Tensor, at: tt.Int32) -> None:
    """Read one place so often as it says: no store has to wait for that."""
    read = cute.make_copy_atom(CopyG2ROp(), tt.Int32, num_bits_per_copy=32, memory_order=MemoryOrder.VOLATILE)
    register = cute.make_rmem_tensor((1,), tt.Int32)
    there = cute.make_tensor(delays.iterator + at, cute.make_layout(1))
    for _ in range(delays[at]):
        cute.copy(read, there, register)


@tt.jit
def meet(arrived: cute.Tensor, lane: tt.Int32, wanted: tt.Int32) -> None:
    """Wait for the other blocks, but not for ever."""
    if lane == 0:
        here = cute.arch.atomic_add(arrived.iterator, tt.Int32(1)) + 1
        turns = 0
        while here < wanted and turns < PATIENCE:
            here = cute.arch.atomic_add(arrived.iterator, tt.Int32(0))
            turns += 1


@tt.jit
def launched(
    memory: cute.Tensor,
    results: cute.Tensor,
    places: cute.Tensor,
    delays: cute.Tensor,
    arrived: cute.Tensor,
    test: tt.Constexpr[Litmus],
    order: tt.Constexpr[str],
    lanes: tt.Constexpr[int],
    rank: tt.Int32,
    blocks: tt.Constexpr[int],
    scope: tt.Constexpr[MemoryScope],
) -> None:
    given = memory, results, places, delays, arrived
    threads_of(*given, test, order, lanes, rank, scope).launch(grid=blocks, block=lanes)


def run(test: Litmus, order: str, launches: int, lanes: int = 1, seed: int = 0) -> Iterator[Counter[Outcome]]:
    """The outcomes of each launch, which runs the test `INSTANCES` times."""
    random = np.random.default_rng(seed)
    memory = np.zeros(test.locations * INSTANCES * LINE, np.int32)
    results = np.zeros((max(1, test.loads), INSTANCES), np.int32)
    arrived = np.zeros(1, np.int32)
    with override(threads=len(test.threads)):
        call = None
        for _ in range(launches):
            memory[:], arrived[:] = 0, 0
            places = random.permutation(INSTANCES).astype(np.int32)
            delays = random.integers(0, LONGEST, len(test.threads) * INSTANCES, np.int32)
            given = memory, results, places, delays, arrived
            call = call or tt.compile(launched, *given, test, order, lanes, 0, len(test.threads), MemoryScope.GPU)
            call(*given, 0)
            yield outcomes_of(test, results, memory.reshape(test.locations, INSTANCES, LINE)[:, :, 0])


def outcomes_of(test: Litmus, results: Any, final: Any) -> Counter[Outcome]:
    """How often each outcome was seen: an outcome is a number whose digits are what was read."""
    parts = [*results[: test.loads], *(final if test.observes_memory else ())]
    base = tuple([VALUES] * len(parts))
    numbers = np.bincount(np.ravel_multi_index(parts, base))
    digits = np.unravel_index(np.arange(len(numbers)), base)
    outcomes = zip(*(digit.tolist() for digit in digits), strict=True)
    return Counter({outcome: int(seen) for outcome, seen in zip(outcomes, numbers, strict=True) if seen})
