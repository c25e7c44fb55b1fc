"""Cluster state: warps that run together, of one block or of all blocks of a cluster, with the words of each block.

Warps are numbered through all blocks. What a cluster has once lies among the words of its first block.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.handles import Value
from triptych.targets.cpu.emit.barrier_state import (
    ADDRESSES,
    CLUSTER_LIVE,
    CONTEXT_BYTES,
    DISTANCE,
    LIVE_THREADS,
    LIVE_WARPS,
    RUNNING,
    WAITING,
    WARP_WORDS,
    State,
    loop,
)
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.launch_frame import LaunchFrame
from triptych.targets.cpu.emit.warp import LaunchCoordinates


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
