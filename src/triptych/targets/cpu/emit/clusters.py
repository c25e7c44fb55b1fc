"""Clusters on a CPU: all warps of a cluster run in turn on one thread, so its barrier is a counter.

The shared memories of the blocks lie at one distance from each other: the same place in another block is a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

from triptych.diagnostics.kernel_errors import ClusterError
from triptych.ir.handles import Operation, Value
from triptych.ir.types import byte_size
from triptych.kernel_ir.dialects import simt
from triptych.targets.cpu.emit.barrier_state import (
    ADDRESSES,
    CLUSTER_ARRIVED,
    CLUSTER_GENERATION,
    CLUSTER_LIVE,
    CONTEXT_BYTES,
    DISTANCE,
    LIVE_THREADS,
    LIVE_WARPS,
    PROGRESS,
    RUNNING,
    WAITING,
    WARP_WORDS,
    State,
    loop,
    when,
)
from triptych.targets.cpu.emit.collectives import require_of
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.launch_frame import LaunchFrame
from triptych.targets.cpu.emit.mbarriers import complete
from triptych.targets.cpu.emit.serialized_lanes import each_active
from triptych.targets.cpu.emit.values import Scalar, Vector, plain_pointer
from triptych.targets.cpu.emit.warp import BlockEnv, LaunchCoordinates, Warp

_ENDED = "a block of the cluster that has ended is still in use"
_NO_RANK = "the cluster has no block with this rank"


class ClusterUnit:
    """The cluster around the code of a warp."""

    def __init__(
        self, code: LaneBuilder, state: State, position: LaunchCoordinates, extents: tuple[int, int, int], words: int
    ) -> None:
        self._code, self._state, self._position = code, state, position
        self.extents, self._words = extents, words
        self.blocks = prod(extents)

    def rank(self) -> Value:
        """The block's own number in the cluster (i32): along x first."""
        code = self._code
        rank = code.constant(0, "i32")
        for place, extent in reversed(list(zip(self._position.block_ids, self.extents, strict=True))):
            size = code.constant(extent, "i32")
            within = code.value("arith.remui", (place, size), "i32")
            rank = code.value("arith.addi", (code.value("arith.muli", (rank, size), "i32"), within), "i32")
        return rank

    def state(self, rank: Value | None = None) -> State:
        """The words of a block of the cluster; of the first one, which has those of the cluster."""
        code, mine = self._code, self.rank()
        ahead = code.value("arith.subi", (code.constant(0, "i32") if rank is None else rank, mine), "i32")
        words = code.value("arith.muli", (ahead, code.constant(self._words, "i32")), "i32")
        return State(code, code.offset(self._state.pointer, code.value("arith.extsi", (words,), "i64"), "i32"))

    def steps(self, rank: Value) -> Value:
        """Bytes (i64) from a place in the block's own shared memory to the same place in another block's."""
        code = self._code
        ahead = code.value("arith.subi", (rank, self.rank()), "i32")
        distance = code.value("arith.extui", (self._state.get(DISTANCE),), "i64")
        return code.value("arith.muli", (code.value("arith.extsi", (ahead,), "i64"), distance), "i64")

    def place(self, warp: Warp, operation: Operation, pointer: Value, rank: Value) -> Value:
        """The same place in another block, which must be there and running."""
        code = self._code
        lane = code.constant(0, "i32") if warp.mask is None else code.first(warp.mask)
        inside = code.compare("ult", rank, code.constant(self.blocks, "i32"))
        expected = f"a rank below {self.blocks}, the blocks of the cluster"
        _require(warp, operation, inside, lane, _NO_RANK, expected=expected)
        if self.blocks == 1:
            return pointer
        live = code.compare("ne", self.state(rank).get(LIVE_THREADS), code.constant(0, "i32"))
        _require(
            warp,
            operation,
            live,
            lane,
            _ENDED,
            found="all threads of the block whose shared memory is named here have ended",
            expected="every block of a cluster to stay until no other uses its shared memory",
            instead="`producer_tail` of a pipeline over the cluster, or `cute.arch.cluster_arrive()` and "
            "`cute.arch.cluster_wait()` at the end of the kernel",
        )
        return code.offset(pointer, self.steps(rank), "i8")

    # the barrier ------------------------------------------------------------------------------------------------
    def begin(self, arrays: BlockEnv) -> None:
        """No lane of the warp has arrived."""
        self._code.store(self._code.constant(0, f"i{self._code.width}"), self._arrived_lanes(arrays), 8)

    def _arrived_lanes(self, arrays: BlockEnv) -> Value:
        return arrays.scratch(self._code.type(f"i{self._code.width}"), "lanes at the cluster's barrier")

    def _generation(self, arrays: BlockEnv) -> Value:
        return arrays.scratch(self._code.type("i32"), "generation of the cluster's barrier")

    def arrive(self, warp: Warp, operation: Operation) -> None:
        code, kind = self._code, f"i{self._code.width}"
        lanes = _active(warp)
        place = self._arrived_lanes(warp.arrays)
        before = code.load(place, kind, 8)
        again = code.compare("ne", code.value("arith.andi", (before, lanes), kind), code.constant(0, kind))
        _require(
            warp,
            operation,
            code.negated(again),
            _first(code, lanes),
            "a thread arrives twice at the barrier of its cluster",
            expected="`cluster_arrive` and `cluster_wait` in turn",
            instead="`cute.arch.cluster_wait()` before the next arrival",
        )
        code.store(code.value("arith.ori", (before, lanes), kind), place, 8)
        whole = self.state()
        code.store(whole.get(CLUSTER_GENERATION), self._generation(warp.arrays), 4)
        many = code.resized(code.value("math.ctpop", (lanes,), kind), "i32")
        arrived = whole.add(CLUSTER_ARRIVED, many)
        self._state.add(PROGRESS, 1)
        when(code, code.compare("uge", arrived, whole.get(CLUSTER_LIVE)), self._release)

    def wait(self, warp: Warp, operation: Operation) -> None:
        code, kind = self._code, f"i{self._code.width}"
        lanes = _active(warp)
        place = self._arrived_lanes(warp.arrays)
        before = code.load(place, kind, 8)
        missing = code.value("arith.andi", (lanes, code.value("arith.xori", (before, lanes), kind)), kind)
        _require(
            warp,
            operation,
            code.compare("eq", missing, code.constant(0, kind)),
            _first(code, lanes),
            "a thread waits at the barrier of its cluster and has not arrived",
            expected="`cluster_arrive` and `cluster_wait` in turn",
            instead="`cute.arch.cluster_arrive()` before it",
        )

        def holds() -> Value:
            mine = code.load(self._generation(warp.arrays), "i32", 4)
            return code.compare("ne", self.state().get(CLUSTER_GENERATION), mine)

        warp.arrays.wait_until(warp, operation, holds)
        still = code.load(place, kind, 8)
        code.store(code.value("arith.xori", (still, _active(warp)), kind), place, 8)

    def _release(self) -> None:
        whole = self.state()
        whole.set(CLUSTER_ARRIVED, 0)
        whole.add(CLUSTER_GENERATION, 1)
        self._state.add(PROGRESS, 1)

    def end(self, threads: Value) -> None:
        """Threads (i32) have ended: the barrier waits for fewer."""
        code, whole = self._code, self.state()
        live = whole.add(CLUSTER_LIVE, code.value("arith.subi", (code.constant(0, "i32"), threads), "i32"))
        arrived = whole.get(CLUSTER_ARRIVED)
        some = code.compare("ne", arrived, code.constant(0, "i32"))
        when(code, code.both(some, code.compare("uge", arrived, live), "i1"), self._release)


# each operation -----------------------------------------------------------------------------------------------------
def arrive(warp: Warp, operation: Operation) -> None:
    warp.arrays.observer.sync(warp, operation)
    _unit(warp).arrive(warp, operation)


def wait(warp: Warp, operation: Operation) -> None:
    _unit(warp).wait(warp, operation)
    warp.arrays.observer.sync(warp, operation)


def address(warp: Warp, operation: Operation) -> None:
    """The same place in another block, for each lane that has its own."""
    code, unit = warp.code, _unit(warp)
    result, (pointer, rank) = operation.results[0], operation.operands
    if warp.analysis.at(rank).uniform:
        if warp.analysis.at(pointer).uniform:
            warp.set(result, Scalar(unit.place(warp, operation, warp.scalar(pointer), warp.scalar(rank))))
            return
        moved = unit.place(warp, operation, code.value("llvm.mlir.zero", (), "!llvm.ptr"), warp.scalar(rank))
        steps = code.broadcast(code.value("llvm.ptrtoint", (moved,), "i64"), "i64")
        warp.set(result, Vector(code.offset(warp.vector(pointer), steps, "i8")))
        return
    scratch = warp.arrays.scratch(code.wide("i64"), "addresses in other blocks")

    def once(lane: Value) -> None:
        here = warp.lane(pointer, lane, plain_pointer(pointer.type))
        there = unit.place(warp, operation, here, warp.lane(rank, lane, rank.type))
        number = code.value("arith.index_castui", (lane,), "i64")
        code.store(code.value("llvm.ptrtoint", (there,), "i64"), code.offset(scratch, number, "i64"), 8)

    for operand in (pointer, rank):
        if not warp.analysis.at(operand).uniform:
            warp.vector(operand)  # made before the loop
    each_active(warp, once)
    found = code.load(scratch, code.wide("i64"), 8)
    warp.set(result, Vector(code.value("llvm.inttoptr", (found,), code.wide("!llvm.ptr"))))


def store_async(warp: Warp, operation: Operation) -> None:
    """Store a value, and count its bytes on an mbarrier: here at once."""
    code = warp.code
    place, value, barrier = operation.operands
    kinds = [plain_pointer(operand.type) for operand in operation.operands]
    size = byte_size(kinds[1])
    for operand in operation.operands:
        if not warp.analysis.at(operand).uniform:
            warp.vector(operand)  # made before the loop

    def once(lane: Value) -> None:
        pairs = zip((place, value, barrier), kinds, strict=True)
        to, stored, counting = (warp.lane(operand, lane, kind) for operand, kind in pairs)
        number = code.value("arith.index_castui", (lane,), "i32")
        warp.arrays.observer.begins(warp, operation, number, to, size, counting)
        code.store(stored, to, size)
        complete(code, warp.arrays.state, counting, code.constant(size, "i32"))

    each_active(warp, once)


def _unit(warp: Warp) -> ClusterUnit:
    found = warp.arrays.cluster
    assert isinstance(found, ClusterUnit), "a kernel with these operations is made of warps that wait"
    return found


def _active(warp: Warp) -> Value:
    kind = f"i{warp.code.width}"
    return warp.code.constant(-1, kind) if warp.mask is None else warp.code.bits(warp.mask)


def _first(code: LaneBuilder, lanes: Value) -> Value:
    return code.resized(code.value("math.cttz", (lanes,), lanes.type), "i32")


_require = partial(require_of, ClusterError)


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    simt.CLUSTER_ARRIVE: arrive,
    simt.CLUSTER_WAIT: wait,
    simt.CLUSTER_ADDRESS: address,
    simt.STORE_ASYNC: store_async,
}

# Cluster state: warps that run together, of one block or of all blocks of a cluster, with the words of each block.
#
# Warps are numbered through all blocks. What a cluster has once lies among the words of its first block.


class ClusterStates:
    """The state words of blocks that run together."""

    def __init__(self, code: LaneBuilder, frame: LaunchFrame, most_warps: int, context_bytes: int) -> None:
        self._code, self._frame, self._most_warps = code, frame, most_warps
        self._context_bytes = context_bytes
        """From the memory of a warp to that of the next."""
        self._stride = words_of_block(most_warps)
        kind = code.type(f"!llvm.array<{self._stride * frame.blocks} x i32>")
        self._words = frame.memory.allocate(kind, 1)
        blocks = code.constant(frame.blocks, "i32")
        self.warps = frame.warps if frame.blocks == 1 else code.value("arith.muli", (frame.warps, blocks), "i32")
        """How many warps there are (i32)."""

    def of_warp(self, number: Value) -> tuple[Value, Value]:
        """The rank of the block that a warp belongs to, and the warp's number there."""
        code, warps = self._code, self._frame.warps
        if self._frame.blocks == 1:
            return code.constant(0, "i32"), number
        return code.value("arith.divui", (number, warps), "i32"), code.value("arith.remui", (number, warps), "i32")

    def state(self, rank: Value) -> State:
        """The words of a block."""
        code = self._code
        if self._frame.blocks == 1:
            return State(code, self._words)
        step = code.value("arith.muli", (rank, code.constant(self._stride, "i32")), "i32")
        return State(code, code.offset(self._words, code.value("arith.extui", (step,), "i64"), "i32"))

    def shared(self, rank: Value) -> Value:
        """The shared memory of a block."""
        code, start = self._code, self._frame.shared
        if start is None:
            return code.value("llvm.mlir.zero", (), "!llvm.ptr")
        if self._frame.blocks == 1:
            return start
        wide = code.value("arith.extui", (rank,), "i64")
        return code.offset(start, code.value("arith.muli", (wide, self._frame.memory.distance), "i64"), "i8")

    def position(self, first: LaunchCoordinates, number: Value) -> LaunchCoordinates:
        """Where the block of a warp is."""
        return self._frame.block_of_cluster(first, self.of_warp(number)[0])

    def each(self, act: Callable[[State], None]) -> None:
        """Do something to the words of every block."""
        code, blocks = self._code, self._frame.blocks
        zero, one = code.constant(0, "i32"), code.constant(1, "i32")
        if blocks == 1:
            act(self.state(zero))
        else:
            loop(code, zero, code.constant(blocks, "i32"), one, lambda rank: act(self.state(rank)))

    def reset(self) -> None:
        """All warps are about to begin."""
        code, frame = self._code, self._frame
        self.each(self._reset_block)
        threads = code.value("arith.muli", (frame.threads, code.constant(frame.blocks, "i32")), "i32")
        self.state(code.constant(0, "i32")).set(CLUSTER_LIVE, threads)

    def _reset_block(self, state: State) -> None:
        for word in range(ADDRESSES):
            state.set(word, 0)
        for word in range(WAITING, words_of_block(self._most_warps), WARP_WORDS):
            state.set(word, RUNNING)
        state.set(CONTEXT_BYTES, self._context_bytes)
        state.set(LIVE_THREADS, self._frame.threads)
        state.set(LIVE_WARPS, self._frame.warps)
        state.set(DISTANCE, self._code.value("arith.trunci", (self._frame.memory.distance,), "i32"))

    def give(self, word: int, memory: Value, size: int) -> None:
        """Give every block its own part of some memory, by its address in two words."""
        code = self._code
        for rank in range(self._frame.blocks):
            place = self.state(code.constant(rank, "i32")).place(word)
            code.store(code.offset(memory, rank * size, "i8") if rank else memory, place, 8)

    def total(self, word: int) -> Value:
        """The sum of a word over all blocks."""
        code = self._code
        words = [self.state(code.constant(rank, "i32")).get(word) for rank in range(self._frame.blocks)]
        found = words[0]
        for more in words[1:]:
            found = code.value("arith.addi", (found, more), "i32")
        return found

    def waiting(self, number: Value) -> Value:
        """Where a warp waits: the number of the place, or that it runs or has ended."""
        rank, within = self.of_warp(number)
        state = self.state(rank)
        return state.get(state.of_warp(within, 0))


def words_of_block(most_warps: int) -> int:
    """How many words the state of a block has."""
    return WAITING + WARP_WORDS * most_warps
