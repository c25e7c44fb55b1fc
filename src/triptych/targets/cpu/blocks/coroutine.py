"""Coroutines for warps that wait for each other: a block resumes its warps in turn until all have ended.

Used when a barrier stands where not all warps come, for named barriers, and for loops that wait for a value in memory.
Waiting gives way to the other warps; a round in which no warp got on is a deadlock, reported where they wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial

from triptych.diagnostics.check_errors import pack
from triptych.diagnostics.kernel_errors import DeadlockError
from triptych.ir.builder import FACTS_ATTRIBUTE
from triptych.ir.handles import Attribute, Module, Operation, Value
from triptych.ir.location import place_of
from triptych.ir.types import CLUSTER_SPACE, SHARED_SPACE, memory_space
from triptych.kernel_ir.analysis.spin_loops import spins
from triptych.kernel_ir.dialects.kernel_attributes import barrier_names, device_of
from triptych.kernel_ir.dialects.kernel_operations import body, contains, traits, walk
from triptych.kernel_ir.dialects.simt import MBARRIER_INIT
from triptych.kernel_ir.dialects.tile import CLC_TRY_CANCEL
from triptych.targets.cpu.abi.abi import (
    KERNEL_STUCK,
    KERNEL_WAITING,
    MOST_WAITING,
    WAITING_ENTRY,
    WAITING_HEAD,
    WAITING_WORDS,
    padded,
)
from triptych.targets.cpu.abi.kernel_functions import LAUNCH_REQUEST, POLL_REQUEST
from triptych.targets.cpu.blocks.warp_coroutine import WarpCoroutine
from triptych.targets.cpu.emit.async_queue import AsyncQueue
from triptych.targets.cpu.emit.barrier_state import LAUNCH_RECORD, LIVE_WARPS, PROGRESS, TENSOR_MEMORY, loop, when
from triptych.targets.cpu.emit.clusters import ClusterStates, words_of_block
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.launch_frame import LaunchFrame, turn
from triptych.targets.cpu.emit.mbarriers import Word, forget
from triptych.targets.cpu.emit.tensor_columns import require_nothing_left, require_one_group
from triptych.targets.cpu.emit.umma import TENSOR_BYTES, TENSOR_MEMORY_USES
from triptych.targets.cpu.emit.warp import LaunchCoordinates, Observe


class CoroutineKernel:
    """Builds `<name>.warp`, the coroutine, and `<name>.blocks`, which runs the warps of each block in turn."""

    def __init__(self, kernel: Operation, module: Module, observe: Observe) -> None:
        self._kernel = kernel
        self._module = module
        self._observe = observe
        model = device_of(kernel)
        self._code = LaneBuilder(model.lanes, module.context)
        self._most_warps = model.warps
        self._name = kernel.attributes["sym_name"].value
        self._arguments = list(body(kernel).arguments)
        self._sites = [found for found in walk(kernel) if _is_site(found)]

    def build(self) -> None:
        words = words_of_block(self._most_warps)
        warp = WarpCoroutine(self._kernel, self._module, self._code, self._name, self._sites, words, self._observe)
        context_bytes = warp.build()
        self._partings = [warp.parting(site) for site in self._sites]
        self._blocks(warp, context_bytes)

    def _blocks(self, warp: WarpCoroutine, context_bytes: int) -> None:
        code = self._code
        frame = LaunchFrame(self._kernel, self._module, code)
        size = padded(max(context_bytes, 1))
        most = frame.blocks * frame.most_warps
        context = frame.memory.allocate(code.type("i8"), size * most)
        states = ClusterStates(code, frame, self._most_warps, size)
        handles = frame.memory.allocate(code.type("!llvm.ptr"), most)
        launch = code.value("func.call", (), "!llvm.ptr", {"callee": code.attribute(f"@{LAUNCH_REQUEST}")})

        queue = warp.queue
        if queue is not None:
            queue.define()
        tensor_memory = None
        if contains(self._kernel, TENSOR_MEMORY_USES):
            require_one_group(self._kernel, frame.blocks)
            tensor_memory = frame.memory.allocate(code.type("i8"), TENSOR_BYTES * frame.blocks)

        asks_for_clusters = contains(self._kernel, frozenset({CLC_TRY_CANCEL}))

        def run(first: LaunchCoordinates) -> None:
            states.reset()
            if asks_for_clusters:
                states.give(LAUNCH_RECORD, launch, 0)
            if tensor_memory is not None:
                states.give(TENSOR_MEMORY, tensor_memory, TENSOR_BYTES)
            if queue is not None:
                queue.begin(frame, states.each, first.block_ids[0])
            zero, one = code.constant(0, "i32"), code.constant(1, "i32")

            def begin(place: Value) -> None:
                number = turn(code, place, states.warps, first.block_ids[0])
                wide = code.value("arith.extui", (number,), "i64")
                mine = code.offset(context, code.value("arith.muli", (wide, code.constant(size, "i64")), "i64"), "i8")
                rank, within = states.of_warp(number)
                position = frame.block_of_cluster(first, rank)
                operands = [*frame.arguments, *position.grid, *position.block, *position.block_ids, within]
                made = code.value(
                    "func.call",
                    [*operands, states.state(rank).pointer, mine, states.shared(rank), launch],
                    "!llvm.ptr",
                    {"callee": code.attribute(f'@"{warp.start}"')},
                )
                code.store(made, self._handle(handles, number), 8)
                code.operation("llvm.intr.coro.resume", (made,))

            loop(code, zero, states.warps, one, begin)
            self._schedule(states, handles, frame, first, launch, queue)

        frame.build(run, warp.observer)

    def _handle(self, handles: Value, number: Value) -> Value:
        return self._code.offset(handles, self._code.value("arith.extui", (number,), "i64"), "!llvm.ptr")

    def _schedule(
        self,
        states: ClusterStates,
        handles: Value,
        frame: LaunchFrame,
        first: LaunchCoordinates,
        launch: Value,
        queue: AsyncQueue | None,
    ) -> None:
        """Resume every warp that has not ended, round after round."""
        code = self._code
        zero, one = code.constant(0, "i32"), code.constant(1, "i32")

        def resume(progress: Value, place: Value) -> None:
            number = turn(code, place, states.warps, progress)
            handle = code.load(self._handle(handles, number), "!llvm.ptr", 8)
            ended = code.intrinsic("llvm.coro.done", (handle,), ["i1"]).result
            going = code.negated(ended)
            when(code, going, lambda: code.operation("llvm.intr.coro.resume", (handle,)))

        def destroy(number: Value) -> None:
            handle = code.load(self._handle(handles, number), "!llvm.ptr", 8)
            code.intrinsic("llvm.coro.destroy", (handle,))

        report = DeadlockReport(code, self._kernel, self._sites, self._partings, frame, states)

        def end() -> None:
            loop(code, zero, states.warps, one, destroy)

        looks = self._looks(frame) if self._waits_for_other_blocks() else None
        rounds = code.operation("scf.while", regions=2)
        before = code.enter(code.append_block(rounds, 0))
        live = code.compare("ne", states.total(LIVE_WARPS), zero)
        code.operation("scf.condition", (live,))
        code.leave(before)
        before = code.enter(code.append_block(rounds, 1))
        progress = states.total(PROGRESS)
        loop(code, zero, states.warps, one, partial(resume, progress))
        if queue is not None:
            queue.give_chance(states.state(zero))
        stuck = code.compare("eq", progress, states.total(PROGRESS))
        if queue is not None:
            stuck = self._nothing_left(stuck, partial(queue.run_one, states.state(zero)))
        code.operation("func.call", attributes={"callee": code.attribute(f"@{POLL_REQUEST}")})
        if looks is not None:
            over = code.call(KERNEL_STUCK, (launch, stuck, looks), ["i32"]).result
            stuck = code.compare("ne", over, code.constant(0, "i32"))
        when(code, stuck, lambda: report.write(launch, first, end))
        code.operation("scf.yield")
        code.leave(before)
        end()
        if queue is not None:
            queue.run_all(states.state(zero))
        if any(found.name == MBARRIER_INIT for found in walk(self._kernel)):
            states.each(lambda state: forget(code, state))
        states.each(lambda state: require_nothing_left(code, self._kernel, state, frame, first))

    def _looks(self, frame: LaunchFrame) -> Value:
        """What the pool keeps of a block that waits for others: no look of it has been in vain."""
        code = self._code
        place = frame.memory.allocate(code.type("i64"), 2)
        for word, value in enumerate((-1, 0)):
            code.store(code.constant(value, "i64"), code.offset(place, word, "i64"), 8)
        return place

    def _nothing_left(self, stuck: Value, run_one: Callable[[], Value]) -> Value:
        """Whether nobody got on, and no operation was left that could be done now."""
        code = self._code
        made = code.operation("scf.if", (stuck,), ["i1"], regions=2)
        for side in range(2):
            before = code.enter(code.append_block(made, side))
            found = code.constant(0, "i1") if side else code.value("arith.xori", (run_one(), stuck), "i1")
            code.operation("scf.yield", (found,))
            code.leave(before)
        return made.results[0]

    def _waits_for_other_blocks(self) -> bool:
        """Whether a loop waits for a value in memory that other blocks can write."""
        return any(found.name == "scf.while" and _reads_global(found) for found in self._sites)


def _is_site(operation: Operation) -> bool:
    """Whether a warp may wait there, or is counted."""
    row = traits(operation)
    return row.is_barrier() or row.awaits() or spins(operation)


def _reads_global(loop: Operation) -> bool:
    return any(
        found.name in ("llvm.load", "llvm.atomicrmw", "llvm.cmpxchg")
        and memory_space(found.operands[0].type) not in (SHARED_SPACE, CLUSTER_SPACE)
        for found in walk(loop)
    )


# Deadlock detection: a round in which no warp advanced; what each waits for is stored, and the launch fails.

_TITLE = "threads wait here for others that never come"
_RANK = 7
"""The last word of an entry."""
_EXPECTED = "every thread that is waited for to arrive, and every byte that is expected to be copied"


class DeadlockReport:
    """Writes the code that ends a launch whose warps wait for ever."""

    def __init__(
        self,
        code: LaneBuilder,
        kernel: Operation,
        sites: Sequence[Operation],
        partings: Sequence[str],
        frame: LaunchFrame,
        states: ClusterStates,
    ) -> None:
        self._code, self._kernel, self._sites, self._frame, self._states = code, kernel, sites, frame, states
        self._partings = partings
        self._words = frame.memory.allocate(code.type(f"!llvm.array<{WAITING_WORDS} x i32>"), 1)

    def write(self, launch: Value, first: LaunchCoordinates, end: Callable[[], None]) -> None:
        """`first` is where the first block is; `end` writes what must happen before the function returns."""
        code = self._code
        zero, one = code.constant(0, "i32"), code.constant(1, "i32")
        self._set(0, zero)
        self._set(4, self._states.warps)
        for word in range(WAITING_HEAD, WAITING_HEAD + WAITING_ENTRY):
            self._set(word, zero)
        loop(code, zero, self._states.warps, one, self._look)
        block = self._frame.block_of_cluster(first, self._get(WAITING_HEAD + _RANK)).block_ids
        for word, value in enumerate(block, start=1):
            self._set(word, value)
        thread = code.value("arith.muli", (self._get(WAITING_HEAD), code.constant(code.width, "i32")), "i32")
        self._frame.memory.write_fault(block, thread)
        code.call(KERNEL_WAITING, [launch, self._words])
        end()
        code.operation("cf.assert", (code.constant(0, "i1"),), attributes=self._facts())

    def _facts(self) -> dict[str, Attribute]:
        """What the error says by itself, and what `waiting_warps` needs to say more."""
        here, builder = place_of(self._kernel), self._code
        spans = [place_of(site) for site in self._sites]
        tables = {
            "sites": [span and asdict(span) for span in spans],
            "partings": list(self._partings),
            "looks": [spins(site) for site in self._sites],
            "barriers": {str(offset): name for offset, name in barrier_names(self._kernel).items()},
        }
        attributes = builder.check_attributes(DeadlockError, _TITLE, span=here, expected=_EXPECTED)
        text = pack(_TITLE, span=here, expected=_EXPECTED, tables=tables)
        return {**attributes, FACTS_ATTRIBUTE: builder.string(text)}

    def _look(self, number: Value) -> None:
        """Note a warp that waits, as long as there is room."""
        code = self._code
        site = self._states.waiting(number)
        waits = code.compare("sge", site, code.constant(0, "i32"))
        fits = code.compare("slt", self._get(0), code.constant(MOST_WAITING, "i32"))
        when(code, code.both(waits, fits, "i1"), lambda: self._note(number, site))

    def _note(self, number: Value, site: Value) -> None:
        code = self._code
        rank, within = self._states.of_warp(number)
        state, count = self._states.state(rank), self._get(0)
        step = code.value("arith.muli", (count, code.constant(WAITING_ENTRY, "i32")), "i32")
        entry = code.offset(code.offset(self._words, WAITING_HEAD, "i32"), code.resized(step, "i64"), "i32")
        pointer = code.load(state.place(state.of_warp(within, 2)), "!llvm.ptr", 8)
        address, base = (code.value("llvm.ptrtoint", (p,), "i64") for p in (pointer, self._states.shared(rank)))
        known = code.compare("ne", address, code.constant(0, "i64"))
        parity = code.select(known, state.get(state.of_warp(within, 1)), code.constant(-1, "i32"), "i32")
        offset = code.value("arith.trunci", (code.value("arith.subi", (address, base), "i64"),), "i32")
        nothing = code.constant(0, "i32")
        for index, value in enumerate((within, site, parity, offset, nothing, nothing, nothing, rank)):
            code.store(value, code.offset(entry, index, "i32"), 4)
        when(code, known, lambda: self._counts(entry, pointer))
        self._set(0, code.value("arith.addi", (count, code.constant(1, "i32")), "i32"))

    def _counts(self, entry: Value, pointer: Value) -> None:
        code, word = self._code, Word(self._code, pointer)
        for index, value in enumerate((word.pending(), word.expected(), word.tx()), start=4):
            code.store(code.value("arith.trunci", (value,), "i32"), code.offset(entry, index, "i32"), 4)

    def _set(self, word: int, value: Value) -> None:
        self._code.store(value, self._code.offset(self._words, word, "i32"), 4)

    def _get(self, word: int) -> Value:
        return self._code.load(self._code.offset(self._words, word, "i32"), "i32", 4)
