"""Warp coroutine `<name>.warp`: its barriers, and the checks that all threads come to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from triptych.diagnostics.kernel_errors import DivergentBarrierError
from triptych.ir import bindings
from triptych.ir.handles import Module, Operation, Type, Value
from triptych.ir.location import place_of
from triptych.ir.modules import append_ir
from triptych.ir.types import byte_size, type_text
from triptych.kernel_ir.analysis.lanes import Level
from triptych.kernel_ir.analysis.spin_loops import counts, spins, waits
from triptych.kernel_ir.analysis.uniformity import Shape, UniformityAnalysis
from triptych.kernel_ir.dialects.kernel_attributes import device_of
from triptych.kernel_ir.dialects.kernel_operations import (
    body,
    cluster_of,
    enclosing,
    has,
    has_body,
    is_pure,
    known_block,
    operations,
    reaches_other_blocks,
)
from triptych.kernel_ir.dialects.mma import WARPGROUP_WARPS
from triptych.kernel_ir.dialects.opdef import Traits
from triptych.kernel_ir.dialects.simt import BARRIER_ARRIVE
from triptych.targets.cpu.abi.abi import padded
from triptych.targets.cpu.abi.kernel_functions import (
    COROUTINE_ATTRIBUTE,
    FRAME_ALIGNMENT,
    FRAME_ALIGNMENT_ATTRIBUTE,
    KERNEL_ATTRIBUTE,
    SUSPEND_REQUEST,
)
from triptych.targets.cpu.emit.async_queue import AsyncQueue
from triptych.targets.cpu.emit.barrier_state import (
    ARRIVED,
    BARRIER_COUNT,
    BULK_GROUPS,
    CONTEXT_BYTES,
    ENDED,
    GENERATION,
    LIVE_THREADS,
    LIVE_WARPS,
    PRODUCT_GROUPS,
    PROGRESS,
    RUNNING,
    SITE,
    State,
    line_of,
    when,
)
from triptych.targets.cpu.emit.clusters import ClusterUnit
from triptych.targets.cpu.emit.dispatch import convert
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.launch_frame import FunctionMemory
from triptych.targets.cpu.emit.values import Emitted, PrivateArray, Scalar, plain_pointer, private_arrays
from triptych.targets.cpu.emit.warp import BlockEnv, LaunchCoordinates, Observe, Warp

_WIDEST = 8
"""Bytes that a lane has in the widest vectors."""
_DOES_NOT_COME = "some threads wait here and the one named below does not come"
_HAS_ENDED = "some threads wait here and the one named below has ended"
_OTHERS_ENDED = "the thread named below comes here and others have ended"


class WarpCoroutine(BlockEnv):
    """The coroutine. It reports faults to the launch like any code of a kernel."""

    cluster: ClusterUnit | None

    def __init__(
        self,
        kernel: Operation,
        module: Module,
        code: LaneBuilder,
        name: str,
        sites: Sequence[Operation],
        state_words: int,
        observe: Observe,
    ) -> None:
        super().__init__(module)
        self._kernel = kernel
        self._code = code
        self.name = f"{name}.warp"
        self.start = f"{name}.start"
        """What callers call: the coroutine as a function that returns its handle."""
        self._sites = sites
        self._state_words = state_words
        self._private = private_arrays(kernel)
        self.queue: AsyncQueue | None = AsyncQueue.of(kernel, code, self)
        self.observer = observe(kernel, code, self)
        self._offsets: dict[Value, int] = {}
        self._scratch: dict[tuple[Type, str], int] = {}
        self._bytes = 0

    def build(self) -> int:
        """Build the function; the bytes of memory that each warp needs."""
        ir, code, kernel = bindings.mlir(), self._code, self._kernel
        code.location = kernel.location
        arguments = list(body(kernel).arguments)
        word, pointer = code.type("i32"), code.type("!llvm.ptr")
        types = [*(plain_pointer(a.type) for a in arguments), *[word] * 10, *[pointer] * 4]
        function, entry = code.function(self._module, self.name, types, code.location)
        function.attributes["sym_visibility"] = code.string("private")
        function.attributes[COROUTINE_ATTRIBUTE] = code.string(self.start)
        if (widest := _WIDEST * code.width) > FRAME_ALIGNMENT:
            function.attributes[FRAME_ALIGNMENT_ATTRIBUTE] = code.integer("i64", widest)
        function.attributes[KERNEL_ATTRIBUTE] = ir.UnitAttr.get(self._module.context)
        append_ir(self._module, f'func.func private @"{self.start}"({", ".join(map(type_text, types))}) -> !llvm.ptr')
        code.insertion = code.at_end(entry)
        given = list(entry.arguments)
        values: dict[Value, Emitted] = {a: Scalar(v) for a, v in zip(arguments, given, strict=False)}
        rest = given[len(arguments) :]
        grid, block, block_ids, number = rest[:3], rest[3:6], rest[6:9], rest[9]
        if (size := known_block(kernel)) is not None:
            block = [code.constant(extent, "i32") for extent in size]
        state, self._context, self.shared, _ = rest[10:]
        self.state = self._state = State(code, state)
        self._memory = FunctionMemory(code)
        self._position = LaunchCoordinates(block_ids, grid, block)
        by_element = frozenset(root for root, array in self._private.items() if array.by_element)
        shape = Shape(code.width, size, lanes=device_of(kernel).lanes)
        self._analysis = analysis = UniformityAnalysis(kernel, shape, by_element=by_element)
        self._strict = [
            site for site in self._sites if site.name == "gpu.barrier" and not _others_have_ended(site, analysis)
        ]
        warp = Warp(convert, code, analysis, self._position, self, values, number, None)
        self._count_lanes(warp, None if size is None else prod(size))
        self.cluster = self._cluster_unit()
        if self.queue is not None:
            for group in (BULK_GROUPS, PRODUCT_GROUPS):
                self._state.set(self._state.of_warp(number, group), 0)
        warp.run(operations(body(kernel))[:-1])
        self._check_nobody_waits(warp)
        self._end(number)
        code.operation("func.return")
        code.finish_function(function, types, [])
        return self._bytes

    def _count_lanes(self, warp: Warp, threads: int | None) -> None:
        """The threads of the block and of the warp; lanes that are none are masked out, unless it is known now that
        the block has whole warps."""
        code = self._code
        self._existing: Value | None = None
        if threads is not None and threads % code.width == 0:
            self._threads, self._lanes = code.constant(threads, "i32"), code.constant(code.width, "i32")
            return
        x, y, z = self._position.block
        self._threads = code.value("arith.muli", (code.value("arith.muli", (x, y), "i32"), z), "i32")
        self._existing = code.compare_lanes("ult", warp.linear().value, code.broadcast(self._threads, "i32"))
        self._lanes = code.many(self._existing)
        warp.mask = self._existing

    def _cluster_unit(self) -> ClusterUnit | None:
        if not reaches_other_blocks(self._kernel):
            return None
        unit = ClusterUnit(self._code, self._state, self._position, cluster_of(self._kernel), self._state_words)
        unit.begin(self)
        return unit

    def of_rank(self, warp: Warp, operation: Operation, pointer: Value, rank: Value) -> Value:
        return pointer if self.cluster is None else self.cluster.place(warp, operation, pointer, rank)

    # memory -----------------------------------------------------------------------------------------------------
    def private(self, warp: Warp, root: Value) -> tuple[PrivateArray, Value]:
        return self._private[root], self._code.offset(self._context, self._place(root), "i8")

    def row(self, warp: Warp, root: Value, number: int) -> Value:
        """By one operation: there are thousands, and what is computed before a suspension would live in the frame."""
        code, size = self._code, byte_size(self._private[root].element)
        return code.offset(self._context, self._place(root) + number * size * code.width, "i8")

    def _place(self, root: Value) -> int:
        """The bytes in front of a private array in the context of a warp."""
        if root not in self._offsets:
            self._offsets[root] = self._take(self._private[root].size * self._code.width)
        return self._offsets[root]

    def scratch(self, kind: Type, role: str = "") -> Value:
        if (kind, role) not in self._scratch:
            self._scratch[kind, role] = self._take(byte_size(kind))
        return self._code.offset(self._context, self._scratch[kind, role], "i8")

    def _take(self, size: int) -> int:
        start = self._bytes
        self._bytes += padded(size)
        return start

    def fault(self, warp: Warp, thread: Value) -> None:
        self._memory.write_fault(self._position.block_ids, thread)

    def owner(self, warp: Warp, *, whole_group: bool = False) -> Value:
        code = self._code
        mine = code.value("llvm.ptrtoint", (self._context,), "i64")
        if not whole_group:
            return mine
        place = code.value("arith.andi", (warp.number, code.constant(WARPGROUP_WARPS - 1, "i32")), "i32")
        back = code.value("arith.muli", (place, self._state.get(CONTEXT_BYTES)), "i32")
        return code.value("arith.subi", (mine, code.resized(back, "i64")), "i64")

    # waiting ----------------------------------------------------------------------------------------------------
    def _suspend(self) -> None:
        self._code.operation("func.call", attributes={"callee": self._code.attribute(f"@{SUSPEND_REQUEST}")})

    def poll(self, warp: Warp, loop: Operation) -> None:
        if spins(loop) and not counts(loop):
            self._wait_at(warp.number, self._sites.index(loop))
            self._await(warp.number, None)
        else:
            self._state.add(PROGRESS, 1)
        self._suspend()
        self._wait_at(warp.number, RUNNING)

    def left(self, warp: Warp, loop: Operation) -> None:
        if spins(loop):
            self._state.add(PROGRESS, 1)

    def _wait_at(self, number: Value, site: int) -> None:
        self._state.set(self._state.of_warp(number, 0), site)

    def _await(self, number: Value, awaited: tuple[Value, Value] | None) -> None:
        """Note the mbarrier that a warp waits for, and the parity of its phase."""
        state, code = self._state, self._code
        pointer, parity = awaited or (code.value("llvm.mlir.zero", (), "!llvm.ptr"), code.constant(0, "i32"))
        state.set(state.of_warp(number, 1), parity)
        code.store(pointer, state.place(state.of_warp(number, 2)), 8)

    def barrier(self, warp: Warp, operation: Operation) -> None:
        """Arrive, and unless the operation only arrives, give way until all have."""
        code, state = self._code, self._state
        first, expected, count = self._of_barrier(warp, operation)
        site = self._sites.index(operation)
        if operation.name == "gpu.barrier":
            self._check_same_site(warp, operation, site, first)
        if operation in self._strict:
            expected = self._threads
            self._check_all_come(warp, operation)
        generation = state.get(self._word(first, GENERATION))
        arrived = state.add(self._word(first, ARRIVED), count)
        state.set(self._word(first, SITE), site)
        state.add(PROGRESS, 1)
        complete = code.compare("uge", arrived, expected)
        when(code, complete, lambda: self._release(first))
        if operation.name == BARRIER_ARRIVE:
            return
        self.wait_until(
            warp, operation, lambda: code.compare("ne", state.get(self._word(first, GENERATION)), generation)
        )

    def wait_until(
        self,
        warp: Warp,
        operation: Operation,
        holds: Callable[[], Value],
        awaited: tuple[Value, Value] | None = None,
    ) -> None:
        code = self._code
        site = self._sites.index(operation)

        def wait() -> None:
            self._wait_at(warp.number, site)
            self._await(warp.number, awaited)
            waiting = code.operation("scf.while", regions=2)
            before = code.enter(code.append_block(waiting, 0))
            self._suspend()
            code.operation("scf.condition", (self._code.negated(holds()),))
            code.leave(before)
            before = code.enter(code.append_block(waiting, 1))
            code.operation("scf.yield")
            code.leave(before)
            self._wait_at(warp.number, RUNNING)
            self._state.add(PROGRESS, 1)

        when(code, self._code.negated(holds()), wait)

    def _of_barrier(self, warp: Warp, operation: Operation) -> tuple[Value, Value, Value]:
        """The first word of the barrier, the threads it waits for, and the threads that arrive."""
        code = self._code
        if operation.name == "gpu.barrier" or not len(operation.operands):
            return code.constant(0, "i64"), self._state.get(LIVE_THREADS), self._lanes
        number, *expected = (warp.scalar(operand) for operand in operation.operands)
        inside = code.value("arith.andi", (number, code.constant(BARRIER_COUNT - 1, "i32")), "i32")
        word = code.value("arith.muli", (code.value("arith.extui", (inside,), "i64"), code.constant(4, "i64")), "i64")
        return word, expected[0] if expected else self._state.get(LIVE_THREADS), code.constant(code.width, "i32")

    def _word(self, first: Value, index: int) -> Value:
        return self._code.value("arith.addi", (first, self._code.constant(index, "i64")), "i64")

    def _release(self, first: Value) -> None:
        self._state.set(self._word(first, ARRIVED), 0)
        self._state.add(self._word(first, GENERATION), 1)
        self._state.add(PROGRESS, 1)

    def _end(self, number: Value) -> None:
        """The warp's threads have ended: who waits for the whole block waits for fewer."""
        code, state = self._code, self._state
        minus = code.value("arith.subi", (code.constant(0, "i32"), self._lanes), "i32")
        live = state.add(LIVE_THREADS, minus)
        if self.cluster is not None:
            self.cluster.end(self._lanes)
        state.add(LIVE_WARPS, -1)
        state.add(PROGRESS, 1)
        self._wait_at(number, ENDED)
        first = code.constant(0, "i64")
        arrived = state.get(self._word(first, ARRIVED))
        some = code.compare("ne", arrived, code.constant(0, "i32"))
        complete = code.both(some, code.compare("uge", arrived, live), "i1")
        when(code, complete, lambda: self._release(first))

    # divergent barriers -----------------------------------------------------------------------------------------
    def _check_all_come(self, warp: Warp, operation: Operation) -> None:
        """Nobody may be missing: no thread of this warp, and no warp that has ended."""
        code = self._code
        if warp.mask is not None and warp.mask is not self._existing:
            missing = code.invert(warp.mask)
            missing = missing if self._existing is None else code.both(self._existing, missing)
            self._refuse(warp, operation, code.any(missing), lambda: self._thread_of(warp, missing), _DOES_NOT_COME)
        ended = code.compare("ne", self._state.get(LIVE_THREADS), self._threads)
        self._refuse(warp, operation, ended, warp.first_thread, _OTHERS_ENDED)

    def _check_nobody_waits(self, warp: Warp) -> None:
        """When a warp ends no other may wait for it."""
        code, state, first = self._code, self._state, self._code.constant(0, "i64")
        some = code.compare("ne", state.get(self._word(first, ARRIVED)), code.constant(0, "i32"))
        where = state.get(self._word(first, SITE))
        for operation in self._strict:
            here = code.compare("eq", where, code.constant(self._sites.index(operation), "i32"))
            self._refuse(warp, operation, code.both(some, here, "i1"), warp.first_thread, _HAS_ENDED)

    def _thread_of(self, warp: Warp, lanes: Value) -> Value:
        return self._code.value("arith.addi", (warp.first_thread(), self._code.first(lanes)), "i32")

    def _refuse(self, warp: Warp, operation: Operation, fails: Value, thread: Callable[[], Value], found: str) -> None:
        code = self._code
        when(code, fails, lambda: self.fault(warp, thread()))
        code.check(
            code.negated(fails),
            DivergentBarrierError,
            "a barrier that not all threads of the block reach",
            span=place_of(operation),
            found=f"{found}{self.parting(operation)}",
            expected="a barrier in control flow that all threads take, or that the others have left by `return`",
            instead="the barrier before or after the branch, where all threads come",
        )

    def parting(self, operation: Operation) -> str:
        """Where threads that do not come have gone another way."""
        inside = enclosing(operation)
        while inside.name != "gpu.func" and _together(inside, self._analysis):
            inside = enclosing(inside)
        return "" if inside.name == "gpu.func" else f"; threads diverge at {line_of(inside)}"

    def _check_same_site(self, warp: Warp, operation: Operation, site: int, first: Value) -> None:
        """All threads of a block meet at one and the same barrier of the program."""
        code, state = self._code, self._state
        waiting = code.compare("ne", state.get(self._word(first, ARRIVED)), code.constant(0, "i32"))
        where = state.get(self._word(first, SITE))
        for j, other in enumerate(self._sites):
            if j == site or other.name != "gpu.barrier":
                continue
            there = code.both(waiting, code.compare("eq", where, code.constant(j, "i32")), "i1")
            when(code, there, lambda: self.fault(warp, warp.first_thread()))
            code.check(
                code.negated(there),
                DivergentBarrierError,
                "threads of a block meet at different barriers",
                span=place_of(operation),
                found=f"some threads come here while others wait at {line_of(other)}",
                expected="all threads of the block at the same barrier",
                instead="one barrier after the branch, in place of one on each side",
            )


def _others_have_ended(operation: Operation, analysis: UniformityAnalysis) -> bool:
    """Whether a thread that does not come to an operation does nothing more: everything around it ends the kernel."""
    while (parent := enclosing(operation)).name != "gpu.func":
        if not _together(parent, analysis) and (parent.name != "scf.if" or _goes_on(parent, operation)):
            return False
        operation = parent
    return True


def _together(operation: Operation, analysis: UniformityAnalysis) -> bool:
    """Whether all threads of the block decide alike."""
    count = 3 if operation.name == "scf.for" else 1
    deciding = list(operation.operands)[:count]
    if operation.name == "scf.while":
        deciding = [operations(body(operation, 0))[-1].operands[0]]
    return all(found.uniform and found.level == Level.BLOCK for found in analysis.all(deciding))


def _goes_on(branch: Operation, taken: Operation) -> bool:
    """Whether a thread on the other side of a branch meets others there, or has something to do behind it."""
    inside, siblings = operations(taken.block), operations(branch.block)
    sides = [operations(body(branch, side)) for side in range(2) if has_body(branch, side)]
    other = [found for side in sides for found in side if found not in inside]
    meets = any(has(found, Traits.is_barrier) or waits(found) for found in other)
    return meets or not all(_idle(found) for found in siblings[siblings.index(branch) + 1 :])


def _idle(operation: Operation) -> bool:
    return operation.name in ("scf.yield", "gpu.return") or is_pure(operation)
