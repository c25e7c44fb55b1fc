"""Asynchronous queue: copies and WGMMAs that complete later than they are issued, in orders other than `early`.

An operation puts what it works on into a record of the queue that all warps of a cluster share; a function of its own
does it. The scheduler runs the oldest, or any, when no warp gets on; who waits for groups runs exactly those. What is
left when the last warp has ended is run then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from triptych.ir.handles import Attribute, Operation, Value
from triptych.kernel_ir.dialects.kernel_attributes import EARLY, order_of, seed_of
from triptych.targets.cpu.emit.barrier_state import BULK_GROUPS, PRODUCT_GROUPS, QUEUE, State, when
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.launch_frame import LaunchFrame
from triptych.targets.cpu.emit.queue_functions import (
    FIRST_OPERAND,
    MOST_OPERANDS,
    PRODUCTS,
    QUEUE_BYTES,
    STORES,
    queue_functions,
)
from triptych.targets.cpu.emit.warp import Background, BlockEnv, Warp

Act = Callable[["State | None", "list[Value]"], None]
"""Writes what an operation does, with nothing but the values it is given."""
MOST_OPEN = 8
"""Groups of products whose ends a warp remembers."""


class AsyncQueue:
    """The queue of a kernel while its code is written."""

    def __init__(self, kernel: Operation, code: LaneBuilder, arrays: BlockEnv) -> None:
        self._code, self._arrays = code, arrays
        self._name = str(kernel.attributes["sym_name"].value)
        self._seed = seed_of(order_of(kernel))
        self._sites: list[list[str]] = []

    @staticmethod
    def of(kernel: Operation, code: LaneBuilder, arrays: BlockEnv) -> AsyncQueue | None:
        """The queue of a kernel that needs one."""
        return None if order_of(kernel) == EARLY else AsyncQueue(kernel, code, arrays)

    # in warps ---------------------------------------------------------------------------------------------------
    def put(self, state: State, kind: int, owner: Value, group: Value, values: Sequence[Value], act: Act) -> None:
        """Do `act` with these values later."""
        code = self._code
        assert len(values) <= MOST_OPERANDS, "a record is too small"
        site = len(self._sites)
        self._sites.append([str(value.type) for value in values])
        self._write_function(site, values, act)
        record = self._call("take", [self.address(state), state.pointer], "!llvm.ptr")
        numbers = {0: code.constant(1, "i32"), 1: code.constant(site, "i32"), 4: code.constant(kind, "i32"), 5: group}
        for word, number in numbers.items():
            code.store(number, code.offset(record, word, "i32"), 4)
        code.store(owner, code.offset(record, 1, "i64"), 8)
        for i, value in enumerate(values, start=FIRST_OPERAND):
            stored = code.resized(value, "i64") if str(value.type) == "i1" else value
            code.store(stored, code.offset(record, i, "i64"), 8)

    def _write_function(self, site: int, values: Sequence[Value], act: Act) -> None:
        """The function of an operation; truth values come as numbers."""
        code = self._code
        kinds = [code.type("i64") if str(v.type) == "i1" else v.type for v in values]
        before = code.insertion
        name = f"{self._name}.late.{site}"
        pointer = code.type("!llvm.ptr")
        function, entry = code.function(self._arrays.module, name, [*kinds, pointer], code.location)
        function.attributes["sym_visibility"] = code.string("private")
        code.enter(entry)
        *given, state = entry.arguments
        named = zip(given, values, strict=True)
        act(State(code, state), [code.resized(g, "i1") if str(v.type) == "i1" else g for g, v in named])
        code.operation("func.return")
        code.leave(before)

    def run_due(self, state: State, kind: int, owner: Value, before: Value) -> None:
        """Run an owner's operations of groups before this one."""
        kinds = self._code.constant(kind, "i32")
        given = [self.address(state), state.pointer, kinds, owner, before]
        self._code.operation("func.call", given, attributes=self._callee("run_due"))

    # in the scheduler -------------------------------------------------------------------------------------------
    def define(self) -> None:
        """Write the functions, when all operations are known."""
        self._arrays.define(queue_functions(self._name, self._sites))

    def begin(self, frame: LaunchFrame, each_state: Callable[[Callable[[State], None]], None], block: Value) -> None:
        """An empty queue, for the states of all blocks."""
        code = self._code
        memory = frame.memory.allocate(code.type("i8"), QUEUE_BYTES)
        code.store(code.constant(0, "i64"), memory, 8)
        start = code.constant((self._seed or 0) * 0x9E3779B9 + 1, "i64")
        chance = code.value("arith.addi", (start, code.resized(block, "i64")), "i64")
        code.store(chance, code.offset(memory, 1, "i64"), 8)
        each_state(lambda state: code.store(memory, state.place(QUEUE), 8))

    def give_chance(self, state: State) -> None:
        """After each round something may be done, if that is left to chance."""
        if self._seed is not None:
            self._call("run_any", [self.address(state), state.pointer], "i1")

    def run_one(self, state: State) -> Value:
        """Nobody got on: run one operation; whether there was one (i1)."""
        name = "run_oldest" if self._seed is None else "run_any"
        return self._call(name, [self.address(state), state.pointer], "i1")

    def run_all(self, state: State) -> None:
        """The last warp has ended."""
        code = self._code
        rounds = code.operation("scf.while", regions=2)
        before = code.enter(code.append_block(rounds, 0))
        code.operation("scf.condition", (self.run_one(state),))
        code.leave(before)
        before = code.enter(code.append_block(rounds, 1))
        code.operation("scf.yield")
        code.leave(before)

    def address(self, state: State) -> Value:
        """Where the queue is."""
        return self._code.load(state.place(QUEUE), "!llvm.ptr", 8)

    def _call(self, name: str, given: Sequence[Value], result: str) -> Value:
        return self._code.value("func.call", given, result, self._callee(name))

    def _callee(self, name: str) -> dict[str, Attribute]:
        return {"callee": self._code.attribute(f'@"{self._name}.{name}"')}


def defer(warp: Warp, kind: int, values: Sequence[Value], act: Act, group: Value | None = None) -> None:
    """Do `act` with these values: at once, or by the queue of a kernel that has one; `group` counts an owner's own."""
    queue, state = warp.arrays.queue, warp.arrays.state
    if queue is None or state is None:
        act(state, list(values))
        return
    owner = warp.arrays.owner(warp, whole_group=kind == PRODUCTS)
    number = state.get(state.of_warp(warp.number, BULK_GROUPS)) if group is None else group
    queue.put(state, kind, owner, number, values, act)


# groups -------------------------------------------------------------------------------------------------------------
def commit_copies(warp: Warp, operation: Operation) -> None:
    """What was stored since the last commit is a group."""
    warp.arrays.observer.sync(warp, operation)
    state = warp.arrays.state
    if warp.arrays.queue is not None and state is not None:
        state.add(state.of_warp(warp.number, BULK_GROUPS), 1)


def wait_for_copies(warp: Warp, operation: Operation) -> None:
    """Run this warp's stores but those of the newest groups."""
    code, state = warp.code, warp.arrays.state
    warp.arrays.observer.sync(warp, operation)
    if warp.arrays.queue is None or state is None:
        return
    newest = code.constant(int(operation.attributes["groups"].value), "i32")
    before = code.value("arith.subi", (state.get(state.of_warp(warp.number, BULK_GROUPS)), newest), "i32")
    warp.arrays.queue.run_due(state, STORES, warp.arrays.owner(warp), before)


def commit_products(warp: Warp, operation: Operation, products: Value | None = None) -> None:
    """Remember how many products (i32) the warpgroup has begun."""
    code, state = warp.code, warp.arrays.state
    if warp.arrays.queue is None or state is None or products is None:
        return
    count = state.get(state.of_warp(warp.number, PRODUCT_GROUPS))
    state.set(_end_of_group(warp, state, count), products)
    more = code.value("arith.addi", (count, code.constant(1, "i32")), "i32")
    state.set(state.of_warp(warp.number, PRODUCT_GROUPS), more)


def wait_for_products(warp: Warp, operation: Operation) -> None:
    """Run the products of the warpgroup but those of the newest groups of this warp."""
    code, state, queue = warp.code, warp.arrays.state, warp.arrays.queue
    warp.arrays.observer.sync(warp, operation)
    if queue is None or state is None:
        return
    newest = min(int(operation.attributes["groups"].value), MOST_OPEN - 1)
    count = state.get(state.of_warp(warp.number, PRODUCT_GROUPS))
    some = code.compare("sgt", count, code.constant(newest, "i32"))
    last = code.value("arith.subi", (count, code.constant(newest + 1, "i32")), "i32")
    when(code, some, partial(_run_products, warp, queue, state, last))


def _run_products(warp: Warp, queue: Background, state: State, group: Value) -> None:
    before = state.get(_end_of_group(warp, state, group))
    queue.run_due(state, PRODUCTS, warp.arrays.owner(warp, whole_group=True), before)


def _end_of_group(warp: Warp, state: State, group: Value) -> Value:
    """Where it is kept how many products there were at the end of a group."""
    code = warp.code
    place = code.value("arith.andi", (group, code.constant(MOST_OPEN - 1, "i32")), "i32")
    return code.value("arith.addi", (state.of_warp(warp.number, PRODUCT_GROUPS + 1), code.resized(place, "i64")), "i64")
