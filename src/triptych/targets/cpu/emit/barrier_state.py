"""Barrier state that the warps of a block share while they wait, and the few shapes of code that read it."""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.handles import Operation, Value
from triptych.ir.location import place_of
from triptych.targets.cpu.emit.lane_builder import LaneBuilder

BARRIER_COUNT = 16
ARRIVED, GENERATION, SITE = 0, 1, 2
CLUSTER_ARRIVED, CLUSTER_GENERATION, CLUSTER_LIVE, DISTANCE = 3, 7, 11, 15
"""In the fourth words of barriers: the barrier of a cluster and its threads, of which the first block keeps the count,
and the bytes from the shared memory of a block to that of the next one."""
PROGRESS, LIVE_THREADS, LIVE_WARPS = (4 * BARRIER_COUNT + i for i in range(3))
KNOWN = LIVE_WARPS + 1
"""How many mbarriers the block has initialised."""
MOST_KNOWN = 64
MOST_GROUPS = 16
PRODUCT_WORDS = KNOWN + 1
"""Two words for each warpgroup: warps that have come to a product, and products that have run."""
CONTEXT_BYTES = PRODUCT_WORDS + 2 * MOST_GROUPS
"""From the memory of a warp to that of the next."""
QUEUE = CONTEXT_BYTES + 2
"""Two words: the address of the queue of operations that are done later, in kernels that have one."""
SHADOW = QUEUE + 2
"""Two words: where it is kept who wrote which bytes of shared memory, in checking builds."""
LAUNCH_RECORD = SHADOW + 2
"""Two words: the launch, in kernels that ask it for further clusters."""
TENSOR_MEMORY = LAUNCH_RECORD + 2
"""Two words: the address of tensor memory, in kernels that have it; then which columns are taken, and of how many the
last allocation was, or that there are no more; then a word for each 32 columns with which an allocation begins."""
TENSOR_USED, TENSOR_LAST, TENSOR_OWNERS = (TENSOR_MEMORY + i for i in range(2, 5))
TENSOR_PARTS = 16
ADDRESSES = TENSOR_OWNERS + TENSOR_PARTS
"""Their addresses, two words each: of the first ones, which are all in any program of reason."""
WAITING = ADDRESSES + 2 * MOST_KNOWN
"""From here on `WARP_WORDS` for each warp: where it waits; the parity and (two words) the address of the mbarrier that
it waits for, or no address; the groups of copies and of products that it has closed, and where its last ones end."""
WARP_WORDS = 16
BULK_GROUPS, PRODUCT_GROUPS = 4, 5
RUNNING, ENDED = -1, -2


class State:
    """The words that the warps of a block share: barriers, counts, and where each warp waits."""

    def __init__(self, code: LaneBuilder, pointer: Value) -> None:
        self._code = code
        self.pointer = pointer

    def place(self, index: Value | int) -> Value:
        return self._code.offset(self.pointer, index, "i32")

    def get(self, index: Value | int) -> Value:
        return self._code.load(self.place(index), "i32", 4)

    def set(self, index: Value | int, value: Value | int) -> None:
        stored = self._code.constant(value, "i32") if isinstance(value, int) else value
        self._code.store(stored, self.place(index), 4)

    def of_warp(self, number: Value, word: int) -> Value:
        """The index (i64) of a word of a warp."""
        code = self._code
        first = code.value("arith.muli", (code.resized(number, "i64"), code.constant(WARP_WORDS, "i64")), "i64")
        return code.value("arith.addi", (first, code.constant(WAITING + word, "i64")), "i64")

    def address(self, number: Value) -> Value:
        """Where the address of a known mbarrier (its number is an i32) is kept."""
        code = self._code
        place = code.value("arith.extui", (code.value("arith.addi", (number, number), "i32"),), "i64")
        return code.offset(self.place(ADDRESSES), place, "i32")

    def add(self, index: Value | int, amount: Value | int) -> Value:
        added = self._code.constant(amount, "i32") if isinstance(amount, int) else amount
        total = self._code.value("arith.addi", (self.get(index), added), "i32")
        self.set(index, total)
        return total


def loop(code: LaneBuilder, low: Value, high: Value, step: Value, act: Callable[[Value], None]) -> None:
    made = code.operation("scf.for", (low, high, step), regions=1)
    inside = code.append_block(made, 0, ["i32"])
    before = code.enter(inside)
    act(inside.arguments[0])
    code.operation("scf.yield")
    code.leave(before)


def when(code: LaneBuilder, condition: Value, act: Callable[[], object]) -> None:
    made = code.operation("scf.if", (condition,), regions=2)
    before = code.enter(code.append_block(made, 0))
    act()
    code.operation("scf.yield")
    code.leave(before)


def line_of(operation: Operation) -> str:
    span = place_of(operation)
    return f"line {span.line}" if span is not None else "another place"
