"""Which programs of `interpreted.py` race, by vector clocks with an entry for each thread; and programs that do not.

Nothing here knows how the checkers keep what they know: every access of every thread is kept, and two of one byte race
when neither happened before the other and one of them writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
from numpy.typing import NDArray

from tests.checkers.interpreted import FLAGS, STEPS, THREADS, Op

Step = tuple[Op, int, int]
_CELLS = 5 * THREADS
"""One for each word that is accessed as a whole, and then one for each byte."""
_LANE = np.arange(THREADS)
_ACCESSES = {
    Op.WRITE: "writes",
    Op.READ: "reads",
    Op.ADD: "adds",
    Op.WRITE_BYTE: "writes",
    Op.READ_BYTE: "reads",
    Op.WRITE_WORD: "writes",
    Op.READ_WORD: "reads",
}
_CONFLICTS = {"reads": ("writes", "adds"), "writes": ("reads", "writes", "adds"), "adds": ("reads", "writes")}
_GROUPS = {Op.BLOCK: THREADS, Op.NAMED: THREADS, Op.PAIRS: 64, Op.WARP: 32, Op.HALVES: 16}


class Clocks:
    """What has happened in a block so far."""

    def __init__(self) -> None:
        self._knows: NDArray[np.int32] = np.eye(THREADS, dtype=np.int32)
        self._done = {kind: np.full((_CELLS, THREADS), -1, np.int32) for kind in _CONFLICTS}

    def after(self, order: Step) -> Clocks:
        """What it would be after something that only orders."""
        there = object.__new__(Clocks)
        there._knows, there._done = self._knows.copy(), self._done
        there.take(order)
        return there

    def races(self, step: Step) -> bool:
        """Whether a step races with what came before."""
        if step[0] not in _ACCESSES:
            return False
        others = _CONFLICTS[_ACCESSES[step[0]]]
        return any((self._done[kind][cells] > self._knows).any() for cells in _cells(step) for kind in others)

    def take(self, step: Step) -> None:
        """Let a step happen."""
        op, a, _ = step
        if op in _ACCESSES:
            for cells in _cells(step):
                self._done[_ACCESSES[op]][cells, _LANE] = self._knows[_LANE, _LANE]
        elif op in _GROUPS:
            size = _GROUPS[op]
            for first in range(0, THREADS, size):
                self._knows[first : first + size] = self._knows[first : first + size].max(axis=0)
            self._tick(_LANE)
        elif op is Op.ARRIVE:
            waiting = _LANE[a != _LANE // 32]
            self._knows[waiting] = self._knows.max(axis=0)
            self._tick(_LANE)
        elif op is Op.HAND_OVER:
            self._knows[a ^ 64] = np.maximum(self._knows[a ^ 64], self._knows[a])
            self._tick(np.array([a]))

    def _tick(self, threads: NDArray[np.integer]) -> None:
        self._knows[threads, threads] += 1


def _cells(step: Step) -> Iterator[NDArray[np.integer]]:
    op, a, k = step
    at = _LANE ^ a
    if op in (Op.WRITE, Op.READ, Op.ADD):
        yield at
    elif op in (Op.WRITE_BYTE, Op.READ_BYTE):
        yield THREADS + at * 4 + k
    else:
        for byte in range(4):
            yield THREADS + at * 4 + byte


def program(source: Random) -> list[Step]:
    """A program that does not race: an order comes before every step that would."""
    steps: list[Step] = []
    clocks, used = Clocks(), 0
    while len(steps) < STEPS - 1:
        step = _step(source, used)
        used += step[0] in (Op.ARRIVE, Op.HAND_OVER)
        if clocks.races(step):
            steps.append(_order(source, clocks, step))
            clocks.take(steps[-1])
        steps.append(step)
        clocks.take(step)
    return steps


def without_an_order(source: Random) -> list[Step]:
    """Such a program that lacks one of its orders: it may race, or not need it."""
    steps = program(source)
    orders = [at for at, (op, _, _) in enumerate(steps) if op not in _ACCESSES]
    if orders:
        del steps[source.choice(orders)]
    return steps


def races(steps: list[Step]) -> bool:
    """Whether any two accesses of a program race."""
    clocks = Clocks()
    for step in steps:
        if clocks.races(step):
            return True
        clocks.take(step)
    return False


def _step(source: Random, used: int) -> Step:
    """Mostly an access, sometimes an order that nobody asked for."""
    if source.random() < 0.75:
        distance = source.choice((0, 0, 1, 3, 15, 16, 31, 32, 48, 64, 127))
        return Op(source.randint(1, 7)), distance, source.randrange(4)
    op = Op(source.randint(8, 14))
    if op in (Op.ARRIVE, Op.HAND_OVER) and used == FLAGS:
        op = Op.WARP
    return op, source.randrange(4 if op is Op.ARRIVE else THREADS), used % FLAGS


def _order(source: Random, clocks: Clocks, step: Step) -> Step:
    """Any one that is wide enough."""
    ways = [*_GROUPS]
    source.shuffle(ways)
    for way in ways:
        if not clocks.after((way, 0, 0)).races(step):
            return way, 0, 0
    raise AssertionError("a barrier of the block orders everything")
