"""The checking build of asynchronous kernels (`TRIPTYCH_DEBUG=async`): copies and products are done late, and whoever
touches shared memory that one of them still reads or writes is told so, with both lines.

Also told: a copy or product that reads what threads wrote and did not fence. What it cannot see: an order of warps that
did not happen, and accesses through other blocks' addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial

from triptych.diagnostics.check_facts import pack
from triptych.diagnostics.kernel_errors import AsyncAccessError
from triptych.ir.builder import FACTS_ATTRIBUTE
from triptych.ir.handles import Attribute, Operation, Type, Value
from triptych.ir.location import place_of
from triptych.ir.types import SHARED_SPACE, byte_size, is_pointer, memory_space
from triptych.kernel_ir.dialects.async_order import checks_async
from triptych.kernel_ir.dialects.kernel_operations import walk
from triptych.kernel_ir.dialects.simt import ASYNC_FENCE
from triptych.kernel_ir.dialects.tile import GROUP_MMA, LOAD_BOX, LOAD_MATRIX, STORE_BOX, STORE_MATRIX
from triptych.targets.cpu.abi.abi import KERNEL_WAITING, WAITING_WORDS
from triptych.targets.cpu.emit.barrier_state import FENCES, SHADOW, State, when
from triptych.targets.cpu.emit.collectives import require
from triptych.targets.cpu.emit.function_memory import FunctionMemory
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.queue_functions import LINE_WORD, RANGE_WORDS
from triptych.targets.cpu.emit.warp import Arrays, Observer, Warp
from triptych.targets.cpu.sanitizer.check_calls import CheckCalls
from triptych.targets.cpu.sanitizer.check_functions import SHADOW_BYTES, WRITER_SHIFT, check_functions

_ASYNCHRONOUS = (LOAD_BOX, STORE_BOX, GROUP_MMA)
_ROW_BYTES = 16
"""Of matrices that a warp moves: each thread gives the address of a row."""
_READS: dict[str, int] = {"llvm.load": 0, LOAD_MATRIX: 0, "llvm.atomicrmw": 0, "llvm.cmpxchg": 0}
_WRITES: dict[str, int] = {"llvm.store": 1, STORE_MATRIX: 0, "llvm.atomicrmw": 0, "llvm.cmpxchg": 0}
"""Accesses, by the operand that is their address."""
_WAIT = "the wait for what is under way before this line: `consumer_wait`, `wait_group`, `producer_acquire`"


def observer_of(kernel: Operation, code: LaneBuilder, arrays: Arrays) -> Observer:
    """Whoever observes a kernel with checkers. Where nothing is queued nothing goes on by itself."""
    if checks_async(kernel) and arrays.queue is not None:
        return AsyncChecks(kernel, code, arrays)
    return CheckCalls(kernel, code)


class AsyncChecks(CheckCalls):
    """Writes these checks of one kernel, beside the calls of the other checkers."""

    def __init__(self, kernel: Operation, code: LaneBuilder, arrays: Arrays) -> None:
        super().__init__(kernel, code)
        self._arrays = arrays
        self._name = str(kernel.attributes["sym_name"].value)
        self._lines = [found for found in walk(kernel) if found.name in _ASYNCHRONOUS]

    def is_told(self, operation: Operation) -> bool:
        return operation.name in _ASYNCHRONOUS or super().is_told(operation)

    # accesses of threads ----------------------------------------------------------------------------------------
    def before(self, warp: Warp, operation: Operation) -> None:
        """Check an access of shared memory."""
        name = operation.name
        if name not in _READS and name not in _WRITES:
            return
        pointer = operation.operands[_WRITES.get(name, _READS.get(name, 0))]
        if not is_pointer(pointer.type) or memory_space(pointer.type) != SHARED_SPACE:
            return
        code, state = self._code, self._state()
        size = code.constant(_size(operation), "i64")
        home = warp.arrays.scratch(code.wide("i64"), "addresses of an access")
        code.store(code.value("llvm.ptrtoint", (warp.vector(pointer),), code.wide("i64")), home, 8)
        bits = code.constant(-1, "i64") if warp.mask is None else code.resized(code.bits(warp.mask), "i64")
        lanes, writes = code.constant(code.width, "i64"), code.constant(int(name in _WRITES), "i1")
        found = self._call("check_lanes", [self._queue(state), home, bits, size, writes, lanes], "i32")
        lane = code.value("arith.shrui", (found, code.constant(16, "i32")), "i32")
        line = code.value("arith.andi", (found, code.constant(0xFFFF, "i32")), "i32")
        holds = code.compare("slt", found, code.constant(0, "i32"))
        self._refuse(warp, operation, holds, lane, line, *_touched(name in _WRITES))
        if name in _WRITES:
            self._mark(warp, state, home, bits, size, lanes)

    def _mark(self, warp: Warp, state: State, home: Value, bits: Value, size: Value, lanes: Value) -> None:
        """Remember who wrote, and how many fences ago."""
        code = self._code
        number = code.value("arith.addi", (warp.number, code.constant(1, "i32")), "i32")
        writer = code.value("arith.shli", (number, code.constant(WRITER_SHIFT, "i32")), "i32")
        count = state.get(state.of_warp(warp.number, FENCES))
        field = code.value("arith.andi", (count, code.constant((1 << WRITER_SHIFT) - 1, "i32")), "i32")
        value = code.value("arith.ori", (writer, field), "i32")
        self._do("mark_lanes", [self._shadow(state), self._base(), home, bits, size, value, lanes])

    def sync(self, warp: Warp, operation: Operation) -> None:
        """Behind a fence, what this warp has written is visible to copies and products."""
        super().sync(warp, operation)
        if operation.name == ASYNC_FENCE:
            state = self._state()
            state.add(state.of_warp(warp.number, FENCES), 1)

    # asynchronous operations ------------------------------------------------------------------------------------
    def enqueues(self, warp: Warp, operation: Operation, ranges: Sequence[tuple[Value, Value]]) -> None:
        """Check what an asynchronous operation is about to read or write."""
        for low, size in ranges:
            if operation.name == LOAD_BOX:
                self._check_free(warp, operation, low, size)
                zero = self._code.constant(0, "i32")
                self._do("mark", [self._shadow(self._state()), self._base(), low, size, zero])
            else:
                self._check_fenced(warp, operation, low, size)

    def enqueued(self, operation: Operation, record: Value, ranges: Sequence[tuple[Value, Value]]) -> None:
        """Write into the record which operation it is, and which bytes it works on."""
        code = self._code
        code.store(code.constant(self._lines.index(operation), "i64"), code.offset(record, LINE_WORD, "i64"), 8)
        ends = [(low, code.value("arith.addi", (low, size), "i64")) for low, size in ranges]
        nothing = code.constant(0, "i64")
        for i, (low, high) in enumerate([*ends, (nothing, nothing)][:2]):
            code.store(low, code.offset(record, RANGE_WORDS + 2 * i, "i64"), 8)
            code.store(high, code.offset(record, RANGE_WORDS + 2 * i + 1, "i64"), 8)

    def _check_free(self, warp: Warp, operation: Operation, low: Value, size: Value) -> None:
        code = self._code
        line = self._call("overlap", [self._queue(self._state()), low, size, code.constant(1, "i1")], "i32")
        holds = code.compare("slt", line, code.constant(0, "i32"))
        title = "a copy into shared memory that is still in use"
        found = "bytes that an operation which is under way reads or writes"
        self._refuse(warp, operation, holds, code.constant(0, "i32"), line, title, found)

    def _check_fenced(self, warp: Warp, operation: Operation, low: Value, size: Value) -> None:
        code, state = self._code, self._state()
        given = [self._shadow(state), self._base(), state.pointer, low, size]
        writer = self._call("unfenced", given, "i32")
        holds = code.compare("slt", writer, code.constant(0, "i32"))
        attributes = code.check_attributes(
            AsyncAccessError,
            "shared memory that was written and not fenced is read in the background",
            span=place_of(operation),
            found="bytes that threads have stored without `fence_proxy` after it",
            expected="a fence by every thread that wrote, then a barrier, then the copy or product",
            instead='`cute.arch.fence_proxy("async.shared", space="cta")` after the stores, before the barrier',
        )
        require(warp, holds, code.constant(0, "i32"), attributes)

    # reports ----------------------------------------------------------------------------------------------------
    def _refuse(
        self, warp: Warp, operation: Operation, holds: Value, lane: Value, line: Value, title: str, found: str
    ) -> None:
        code = self._code
        fails = code.negated(holds)
        when(code, fails, partial(self._keep, line))
        require(warp, holds, lane, self._report(operation, title, found))

    def _keep(self, line: Value) -> None:
        assert self.launch is not None
        words = self._arrays.scratch(self._code.type(f"!llvm.array<{WAITING_WORDS} x i32>"), "a report")
        self._code.store(line, words, 4)
        self._code.call(KERNEL_WAITING, [self.launch, words])

    def _report(self, operation: Operation, title: str, found: str) -> dict[str, Attribute]:
        here, builder = place_of(operation), self._code
        spans = [place_of(other) for other in self._lines]
        expected = "an access after the wait for what reads or writes these bytes in the background"
        attributes = builder.check_attributes(AsyncAccessError, title, span=here, found=found)
        tables = {"lines": [span and asdict(span) for span in spans]}
        text = pack(title, span=here, found=found, expected=expected, instead=_WAIT, tables=tables)
        return {**attributes, FACTS_ATTRIBUTE: builder.string(text)}

    # memory -----------------------------------------------------------------------------------------------------
    def reset(self, memory: FunctionMemory, blocks: int, state_of: Callable[[Value], State]) -> None:
        """Nobody has written anything yet."""
        code = self._code
        self._arrays.define(check_functions(self._name))
        shadow = memory.allocate(code.type("i8"), SHADOW_BYTES * blocks)
        size = code.constant(SHADOW_BYTES * blocks, "i64")
        no = {"isVolatile": code.attribute("false")}
        code.operation("llvm.intr.memset", (shadow, code.constant(0, "i8"), size), attributes=no)
        for rank in range(blocks):
            state = state_of(code.constant(rank, "i32"))
            code.store(code.offset(shadow, SHADOW_BYTES * rank, "i8"), state.place(SHADOW), 8)

    def _state(self) -> State:
        assert self._arrays.state is not None
        return self._arrays.state

    def _shadow(self, state: State) -> Value:
        return self._code.load(state.place(SHADOW), "!llvm.ptr", 8)

    def _base(self) -> Value:
        assert self._arrays.shared is not None
        return self._code.value("llvm.ptrtoint", (self._arrays.shared,), "i64")

    def _queue(self, state: State) -> Value:
        assert self._arrays.queue is not None
        return self._arrays.queue.address(state)

    def _call(self, name: str, given: Sequence[Value], result: str) -> Value:
        return self._code.value("func.call", given, result, self._callee(name))

    def _do(self, name: str, given: Sequence[Value]) -> None:
        self._code.operation("func.call", given, attributes=self._callee(name))

    def _callee(self, name: str) -> dict[str, Attribute]:
        return {"callee": self._code.attribute(f'@"{self._name}.{name}"')}


def _size(operation: Operation) -> int:
    """Bytes that a thread accesses."""
    if operation.name in (LOAD_MATRIX, STORE_MATRIX):
        return _ROW_BYTES
    kind: Type = operation.operands[0].type if operation.name == "llvm.store" else operation.results[0].type
    if operation.name in ("llvm.atomicrmw", "llvm.cmpxchg"):
        kind = operation.operands[1].type
    return byte_size(kind)


def _touched(writes: bool) -> tuple[str, str]:
    if writes:
        return "shared memory is written that is used in the background", "bytes that an operation under way needs"
    return "shared memory is read before it is there", "bytes that a copy which is under way has not written yet"
