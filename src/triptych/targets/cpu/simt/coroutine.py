"""Warps that wait for each other: each warp is a coroutine, and a block runs its warps in turn until all have ended.

Used when a barrier stands where not all warps come, for named barriers, and for loops that wait for a value in memory.
Waiting gives way to the other warps; a round in which no warp got on is a deadlock, reported where they wait.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.location import place_of
from triptych.ir.types import SHARED_SPACE, memory_space
from triptych.simt.device_attribute import device_of
from triptych.simt.operations import body, walk
from triptych.simt.spin_loops import spins
from triptych.simt.traits import traits
from triptych.support.kernel_errors import DeadlockError
from triptych.targets.cpu.kernel_functions import LAUNCH_REQUEST, POLL_REQUEST
from triptych.targets.cpu.memory_sizes import padded
from triptych.targets.cpu.simt.barrier_state import (
    ENDED,
    LIVE_THREADS,
    LIVE_WARPS,
    PROGRESS,
    RUNNING,
    WAITING,
    State,
    line_of,
    loop,
    when,
)
from triptych.targets.cpu.simt.code import Code
from triptych.targets.cpu.simt.launch_frame import LaunchFrame
from triptych.targets.cpu.simt.warp import Position
from triptych.targets.cpu.simt.warp_coroutine import WarpCoroutine


class CoroutineKernel:
    """Builds `<name>.warp`, the coroutine, and `<name>.blocks`, which runs the warps of each block in turn."""

    def __init__(self, kernel: Operation, module: Module) -> None:
        self._kernel = kernel
        self._module = module
        model = device_of(kernel)
        self._code = Code(Builder(module.context), model.lanes)
        self._most_warps = model.warps
        self._name = kernel.attributes["sym_name"].value
        self._arguments = list(body(kernel).arguments)
        self._sites = [found for found in walk(kernel) if traits(found).is_barrier() or spins(found)]

    def build(self) -> None:
        warp = WarpCoroutine(self._kernel, self._module, self._code, self._name, self._sites)
        context_bytes = warp.build()
        self._blocks(warp, context_bytes)

    def _blocks(self, warp: WarpCoroutine, context_bytes: int) -> None:
        code = self._code
        frame = LaunchFrame(self._kernel, self._module, code)
        size = padded(max(context_bytes, 1))
        context = frame.memory.allocate(code.builder.type("i8"), size * self._most_warps)
        words = frame.memory.allocate(code.builder.type(f"!llvm.array<{WAITING + self._most_warps} x i32>"), 1)
        handles = frame.memory.allocate(code.builder.type("!llvm.ptr"), self._most_warps)
        launch = code.value("func.call", (), "!llvm.ptr", {"callee": code.attribute(f"@{LAUNCH_REQUEST}")})
        state = State(code, words)

        def run(position: Position) -> None:
            self._reset(state, frame)
            zero, one = code.constant(0, "i32"), code.constant(1, "i32")
            shared = frame.shared if frame.shared is not None else code.value("llvm.mlir.zero", (), "!llvm.ptr")

            def begin(number: Value) -> None:
                step = code.constant(size, "i32")
                mine = code.offset(
                    context, code.value("arith.extui", (code.value("arith.muli", (number, step), "i32"),), "i64"), "i8"
                )
                operands = [*frame.arguments, *position.grid, *position.block, *position.block_ids, number]
                made = code.value(
                    "func.call",
                    [*operands, words, mine, shared, launch],
                    "!llvm.ptr",
                    {"callee": code.attribute(f'@"{warp.start}"')},
                )
                code.store(made, self._handle(handles, number), 8)

            loop(code, zero, frame.warps, one, begin)
            self._schedule(state, handles, frame, position)

        frame.build(run)

    def _handle(self, handles: Value, number: Value) -> Value:
        return self._code.offset(handles, self._code.value("arith.extui", (number,), "i64"), "!llvm.ptr")

    def _reset(self, state: State, frame: LaunchFrame) -> None:
        for word in range(WAITING):
            state.set(word, 0)
        for word in range(WAITING, WAITING + self._most_warps):
            state.set(word, RUNNING)
        state.set(LIVE_THREADS, frame.threads)
        state.set(LIVE_WARPS, frame.warps)

    def _schedule(self, state: State, handles: Value, frame: LaunchFrame, position: Position) -> None:
        """Resume every warp that has not ended, round after round."""
        code = self._code
        zero, one = code.constant(0, "i32"), code.constant(1, "i32")

        def resume(number: Value) -> None:
            handle = code.load(self._handle(handles, number), "!llvm.ptr", 8)
            ended = code.intrinsic("llvm.coro.done", (handle,), ["i1"]).result
            going = code.value("arith.xori", (ended, code.constant(1, "i1")), "i1")
            when(code, going, lambda: code.operation("llvm.intr.coro.resume", (handle,)))

        def destroy(number: Value) -> None:
            handle = code.load(self._handle(handles, number), "!llvm.ptr", 8)
            code.intrinsic("llvm.coro.destroy", (handle,))

        rounds = code.operation("scf.while", regions=2)
        before = code.enter(code.block(rounds, 0))
        live = code.compare("ne", state.get(LIVE_WARPS), zero)
        code.operation("scf.condition", (live,))
        code.leave(before)
        before = code.enter(code.block(rounds, 1))
        progress = state.get(PROGRESS)
        loop(code, zero, frame.warps, one, resume)
        stuck = code.compare("eq", progress, state.get(PROGRESS))
        code.operation("func.call", attributes={"callee": code.attribute(f"@{POLL_REQUEST}")})
        if not self._waits_for_other_blocks():
            when(code, stuck, lambda: self._report(state, frame, position, destroy))
        code.operation("scf.yield")
        code.leave(before)
        loop(code, zero, frame.warps, one, destroy)

    def _waits_for_other_blocks(self) -> bool:
        """Whether a loop waits for a value in memory that other blocks can write."""
        return any(found.name == "scf.while" and _reads_global(found) for found in self._sites)

    # deadlocks --------------------------------------------------------------------------------------------------
    def _report(self, state: State, frame: LaunchFrame, position: Position, destroy: Callable[[Value], None]) -> None:
        """Say where the first waiting warp waits, and what has become of another one."""
        code = self._code
        waiting, other = self._two_warps(state, frame)
        thread = code.value("arith.muli", (waiting, code.constant(code.width, "i32")), "i32")
        frame.memory.write_fault(position.block_ids, thread)
        here, there = (state.get(self._waiting_word(number)) for number in (waiting, other))
        loop(code, code.constant(0, "i32"), frame.warps, code.constant(1, "i32"), destroy)
        for i, site in enumerate(self._sites):
            at = code.compare("eq", here, code.constant(i, "i32"))
            for j, text in self._fates(i):
                both = code.both(at, code.compare("eq", there, code.constant(j, "i32")), "i1")
                self._fail_if(both, site, text)
        self._fail_if(code.constant(1, "i1"), self._kernel, "other threads do not come")

    def _fates(self, waiting: int) -> list[tuple[int, str]]:
        fates = [(ENDED, "other threads of the block have ended")]
        for j, site in enumerate(self._sites):
            if j != waiting:
                fates.append((j, f"other threads of the block wait at {line_of(site)}"))
        return [*fates, (waiting, "no thread of the block can go on")]

    def _waiting_word(self, number: Value) -> Value:
        code = self._code
        return code.value(
            "arith.addi", (code.value("arith.extui", (number,), "i64"), code.constant(WAITING, "i64")), "i64"
        )

    def _two_warps(self, state: State, frame: LaunchFrame) -> tuple[Value, Value]:
        """The first warp that waits, and the last one that is somewhere else (or the same)."""
        code = self._code
        zero, one = code.constant(0, "i32"), code.constant(1, "i32")
        places = [frame.memory.allocate(code.builder.type("i32"), 1) for _ in range(2)]

        def look_for_waiting(back: Value) -> None:
            number = code.value("arith.subi", (code.value("arith.subi", (frame.warps, one), "i32"), back), "i32")
            waits = code.compare("sge", state.get(self._waiting_word(number)), zero)
            when(code, waits, lambda: code.store(number, places[0], 4))

        code.store(zero, places[0], 4)
        loop(code, zero, frame.warps, one, look_for_waiting)
        waiting = code.load(places[0], "i32", 4)
        site = state.get(self._waiting_word(waiting))
        code.store(waiting, places[1], 4)

        def look_for_other(number: Value) -> None:
            differs = code.compare("ne", state.get(self._waiting_word(number)), site)
            when(code, differs, lambda: code.store(number, places[1], 4))

        loop(code, zero, frame.warps, one, look_for_other)
        return waiting, code.load(places[1], "i32", 4)

    def _fail_if(self, fails: Value, site: Operation, text: str) -> None:
        code = self._code
        holds = code.value("arith.xori", (fails, code.constant(1, "i1")), "i1")
        code.check(
            holds,
            DeadlockError,
            "threads wait here for others that never come",
            span=place_of(site),
            found=text,
            expected="every thread that is waited for to arrive",
            instead="the number of threads that do arrive, or the missing `arrive` on the other path",
        )


def _reads_global(loop: Operation) -> bool:
    return any(
        found.name in ("llvm.load", "llvm.atomicrmw", "llvm.cmpxchg")
        and memory_space(found.operands[0].type) != SHARED_SPACE
        for found in walk(loop)
    )
