"""What the warps of a block share while they wait for each other, and the few shapes of code that look at it."""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.handles import Operation, Value
from triptych.ir.location import place_of
from triptych.targets.cpu.simt.code import Code

BARRIER_COUNT = 16
ARRIVED, GENERATION, SITE = 0, 1, 2
PROGRESS, LIVE_THREADS, LIVE_WARPS = (4 * BARRIER_COUNT + i for i in range(3))
WAITING = LIVE_WARPS + 1
"""From here on a word for each warp."""
RUNNING, ENDED = -1, -2


class State:
    """The words that the warps of a block share: barriers, counts, and where each warp waits."""

    def __init__(self, code: Code, pointer: Value) -> None:
        self._code = code
        self.pointer = pointer

    def place(self, index: Value | int) -> Value:
        return self._code.offset(self.pointer, index, "i32")

    def get(self, index: Value | int) -> Value:
        return self._code.load(self.place(index), "i32", 4)

    def set(self, index: Value | int, value: Value | int) -> None:
        stored = self._code.constant(value, "i32") if isinstance(value, int) else value
        self._code.store(stored, self.place(index), 4)

    def add(self, index: Value | int, amount: Value | int) -> Value:
        added = self._code.constant(amount, "i32") if isinstance(amount, int) else amount
        total = self._code.value("arith.addi", (self.get(index), added), "i32")
        self.set(index, total)
        return total


def loop(code: Code, low: Value, high: Value, step: Value, act: Callable[[Value], None]) -> None:
    made = code.operation("scf.for", (low, high, step), regions=1)
    inside = code.block(made, 0, ["i32"])
    before = code.enter(inside)
    act(inside.arguments[0])
    code.operation("scf.yield")
    code.leave(before)


def when(code: Code, condition: Value, act: Callable[[], object]) -> None:
    made = code.operation("scf.if", (condition,), regions=2)
    before = code.enter(code.block(made, 0))
    act()
    code.operation("scf.yield")
    code.leave(before)


def line_of(operation: Operation) -> str:
    span = place_of(operation)
    return f"line {span.line}" if span is not None else "another place"
