"""Sanitizer calls of the dialect `check`: one for the threads of a warp (debug builds)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence

from triptych.ir.handles import Operation, Value
from triptych.ir.types import count_and_element, is_integer
from triptych.kernel_ir.analysis.lanes import Lanes
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.check import (
    CHECK_ACCESS,
    CHECK_CALL,
    CHECK_COPY,
    CHECK_PLACE,
    CHECK_SYNC,
    CHECK_UNSET,
    CHECKS_ATTRIBUTE,
    SITE_ATTRIBUTE,
    STEPS_ATTRIBUTE,
)
from triptych.kernel_ir.dialects.mma import WARPGROUP_WARPS
from triptych.kernel_ir.dialects.tile import (
    TMEM_ALLOC,
    TMEM_COPY,
    TMEM_DEALLOC,
    TMEM_LOAD,
    TMEM_LOAD_REDUCE,
    TMEM_STORE,
    TMEM_WAIT,
    UMMA,
    UMMA_COMMIT,
    WGMMA_COMMIT,
    WGMMA_STEPS,
    WGMMA_WAIT,
)
from triptych.targets.cpu.abi.abi import ALIGNMENT, CHECK_COLLECT, CHECK_DISCARD
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.memory import packed_value
from triptych.targets.cpu.emit.values import StackSlot
from triptych.targets.cpu.emit.warp import LaunchCoordinates, Observer, Warp
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.async_code import COPY
from triptych.targets.cpu.sanitizer.async_proxy_code import ASK, LOAD, PHASE, USE
from triptych.targets.cpu.sanitizer.global_code import ACCESS_GLOBAL, GLOBAL_LOOP, GLOBAL_RUN, GLOBAL_RUN_LOOP
from triptych.targets.cpu.sanitizer.happens_before_code import SYNC
from triptych.targets.cpu.sanitizer.pipeline_code import CALL
from triptych.targets.cpu.sanitizer.read_log_code import ACCESS, ACCESS_LOOP, ACCESS_RUN, PASS_ALL, RUN_LOOP
from triptych.targets.cpu.sanitizer.shadow_code import BEGIN_BLOCK, END_BLOCK, UNSET
from triptych.targets.cpu.sanitizer.tensor_memory_code import TENSOR, TENSOR_COMMIT, TENSOR_WAIT

_STEPS: Mapping[str, int] = {
    simt.ASYNC_FENCE: at.FENCE_PROXY,
    simt.ASYNC_ARRIVE: at.LAND_COPIES,
    simt.BULK_COMMIT: at.COMMIT_STORES,
    simt.BULK_WAIT: at.AWAIT_STORES,
    WGMMA_COMMIT: at.COMMIT_PRODUCTS,
    WGMMA_WAIT: at.AWAIT_PRODUCTS,
}
_PHASES: Mapping[str, int] = {
    simt.MBARRIER_INIT: at.MAKE_PHASE,
    simt.MBARRIER_EXPECT: at.USE_PHASE,
    simt.MBARRIER_WAIT: at.USE_PHASE,
    simt.MBARRIER_TEST: at.USE_PHASE,
}
"""All others arrive."""
_TENSOR: Mapping[str, int] = {
    TMEM_LOAD: at.TENSOR_LOAD,
    TMEM_LOAD_REDUCE: at.TENSOR_LOAD,
    TMEM_STORE: at.TENSOR_STORE,
    UMMA: at.TENSOR_PRODUCT,
    TMEM_COPY: at.TENSOR_PRODUCT,
    TMEM_ALLOC: at.TENSOR_ALLOC,
    TMEM_DEALLOC: at.TENSOR_FREE,
}
_TENSOR_AGENTS = {"load": at.TMEM_LOAD_AGENT, "store": at.TMEM_STORE_AGENT}


class AsyncProxyCalls(Observer):
    """Writes calls of the checkers for asynchronous operations and for what orders them."""

    def observes(self, operation: Operation) -> bool:
        return SITE_ATTRIBUTE in operation.attributes

    def phase(
        self, warp: Warp, operation: Operation, pointer: Value, lane: Value | None = None, *, over: bool = False
    ) -> None:
        if SITE_ATTRIBUTE in operation.attributes:
            code, lanes = warp.code, active(warp, lane)
            if operation.name == UMMA_COMMIT:
                code.call(TENSOR_COMMIT, [lanes, first_number(warp), pointer, _site_number(code, operation)])
                return
            what = at.PASS_PHASE if over else _PHASES.get(operation.name, at.ARRIVE_PHASE)
            code.call(
                PHASE, [code.constant(what, "i32"), lanes, first_number(warp), pointer, _site_number(code, operation)]
            )

    def begins(
        self, warp: Warp, operation: Operation, lane: Value, low: Value, size: int | Value, barrier: Value | None = None
    ) -> None:
        if SITE_ATTRIBUTE in operation.attributes:
            code = warp.code
            thread = code.value("arith.addi", (first_number(warp), lane), "i32")
            counted, site = code.counted(size), _site_number(code, operation)
            if barrier is not None:
                code.call(LOAD, [thread, low, barrier, counted, site])
            else:
                agent = at.WGMMA_AGENT if operation.name in (UMMA, TMEM_COPY, *WGMMA_STEPS) else at.STORE_AGENT
                code.call(USE, [thread, low, counted, site, code.constant(agent, "i32")])

    def asks(self, warp: Warp, operation: Operation, lane: Value, barrier: Value, given: Value) -> None:
        if SITE_ATTRIBUTE in operation.attributes:
            thread = warp.code.value("arith.addi", (first_number(warp), lane), "i32")
            warp.code.call(ASK, [thread, barrier, given, _site_number(warp.code, operation)])

    def tensor(
        self,
        warp: Warp,
        operation: Operation,
        rank: Value,
        address: Value,
        columns: int | Value,
        adds: Value | None = None,
    ) -> None:
        self._of_columns(warp, operation, _TENSOR[operation.name], rank, address, columns, adds)

    def reads(self, warp: Warp, operation: Operation, rank: Value, address: Value, columns: int, scales: bool) -> None:
        kind = at.TENSOR_SCALES if scales else at.TENSOR_OPERAND
        self._of_columns(warp, operation, kind, rank, address, columns, None)

    def _of_columns(
        self, warp: Warp, operation: Operation, kind: int, rank: Value, address: Value, columns: int | Value,
        adds: Value | None,
    ) -> None:  # fmt: skip
        if SITE_ATTRIBUTE in operation.attributes:
            code = warp.code
            lane = code.constant(0, "i32") if warp.mask is None else code.first(warp.mask)
            thread = code.value("arith.addi", (first_number(warp), lane), "i32")
            many = code.constant(columns, "i32") if isinstance(columns, int) else columns
            added = code.constant(0, "i32") if adds is None else code.resized(adds, "i32")
            what = code.constant(kind, "i32")
            code.call(TENSOR, [what, thread, rank, address, many, added, _site_number(code, operation)])

    def sync(self, warp: Warp, operation: Operation) -> None:
        if SITE_ATTRIBUTE not in operation.attributes:
            return
        name, attributes = operation.name, operation.attributes
        if name == simt.CLUSTER_ARRIVE:
            _meet_cluster(warp, at.ARRIVE_RELAXED if attributes["order"].value == "relaxed" else at.ARRIVE)
        elif name == simt.CLUSTER_WAIT:
            _meet_cluster(warp, at.PASS_NAMED)
        elif name == TMEM_WAIT:
            agent = warp.code.constant(_TENSOR_AGENTS[str(attributes["kind"].value)], "i32")
            warp.code.call(TENSOR_WAIT, [first_number(warp), agent])
        else:
            newest = int(attributes["groups"].value) if name in (simt.BULK_WAIT, WGMMA_WAIT) else 0
            place = warp.code.value("arith.andi", (warp.number, warp.code.constant(WARPGROUP_WARPS - 1, "i32")), "i32")
            _sync_call(warp, _STEPS[name], warp.code.resized(place, "i64"), warp.code.constant(newest, "i32"))


def first_number(warp: Warp) -> Value:
    """The number of the thread in lane 0, counted through all blocks that run together."""
    mine = warp.first_thread()
    cluster = warp.arrays.cluster
    if cluster is None or cluster.blocks == 1:
        return mine
    before = warp.code.value("arith.muli", (cluster.rank(), threads_of_block(warp)), "i32")
    return warp.code.value("arith.addi", (before, mine), "i32")


def threads_of_block(warp: Warp) -> Value:
    code, threads = warp.code, warp.code.constant(1, "i32")
    for extent in warp.position.block:
        threads = code.value("arith.muli", (threads, extent), "i32")
    return threads


def active(warp: Warp, lane: Value | None = None) -> Value:
    """The active lanes as bits (i64), or one of them (an index)."""
    code = warp.code
    if lane is not None:
        number = code.value("arith.index_castui", (lane,), "i64")
        return code.value("arith.shli", (code.constant(1, "i64"), number), "i64")
    if warp.mask is None:
        return code.constant((1 << code.width) - 1 if code.width < 64 else -1, "i64")
    return code.resized(code.bits(warp.mask), "i64")


def _meet_cluster(warp: Warp, what: int) -> None:
    if warp.arrays.cluster is not None:
        blocks = warp.code.constant(warp.arrays.cluster.blocks, "i32")
        threads = warp.code.value("arith.muli", (threads_of_block(warp), blocks), "i32")
        _sync_call(warp, what, warp.code.constant(at.OF_CLUSTER, "i64"), threads)


def _sync_call(warp: Warp, what: int, number: Value, count: Value) -> None:
    code = warp.code
    threads = [active(warp), first_number(warp), code.constant(code.width, "i32")]
    nowhere = code.value("llvm.mlir.zero", (), "!llvm.ptr")
    code.call(SYNC, [code.constant(what, "i32"), *threads, number, count, nowhere])


def _site_number(code: LaneBuilder, operation: Operation) -> Value:
    return code.constant(int(operation.attributes[SITE_ATTRIBUTE].value), "i32")


_BY_ADDRESSES = {
    (False, False): ACCESS,
    (False, True): ACCESS_LOOP,
    (True, False): ACCESS_GLOBAL,
    (True, True): GLOBAL_LOOP,
}
_BY_STRIDE = {
    (False, False): ACCESS_RUN,
    (False, True): RUN_LOOP,
    (True, False): GLOBAL_RUN,
    (True, True): GLOBAL_RUN_LOOP,
}
"""What an access calls: whether of global memory, and whether loops repeat it."""


def access(warp: Warp, operation: Operation) -> None:
    """`check.access`: lanes a known distance apart have one address and that distance."""
    pointer, *values = operation.operands
    if isinstance(warp.get(pointer), StackSlot):
        return
    code, repeated = warp.code, STEPS_ATTRIBUTE in operation.attributes
    numbers = [code.constant(int(operation.attributes[name].value), "i32") for name in ("size", "kind", "site")]
    more = _levels(warp, list(operation.attributes[STEPS_ATTRIBUTE]), values) if repeated else _kept(warp, values)
    given = [*_threads(warp, int(operation.attributes["lanes"].value)), *numbers, more]
    stride = _stride(warp.analysis.at(pointer))
    is_global = bool(int(operation.attributes["kind"].value) & at.IS_GLOBAL)
    if stride is None:
        code.call(_BY_ADDRESSES[is_global, repeated], [_addresses(warp, pointer), *given])
    else:
        code.call(_BY_STRIDE[is_global, repeated], [warp.scalar(pointer), code.constant(stride, "i64"), *given])


def sync(warp: Warp, operation: Operation) -> None:
    """`check.sync`."""
    if warp.of_block:
        warp.code.call(PASS_ALL, [])
        return
    code, what = warp.code, int(operation.attributes["what"].value)
    if what == at.USE_TENSOR_LOADS:
        code.call(TENSOR_WAIT, [first_number(warp), code.constant(at.TMEM_LOAD_AGENT, "i32")])
        return
    number, count = code.constant(0, "i64"), code.constant(0, "i32")
    operands = list(operation.operands)
    if what in (at.ARRIVE, at.PASS_NAMED):
        number, count = _barrier(warp, operands)
    elif what == at.COME_TO_SITE:
        number = code.resized(warp.scalar(operands[0]), "i64")
        if operands[1:]:
            barrier, count = _barrier(warp, operands[1:])
            after = code.value("arith.addi", (barrier, code.constant(1, "i64")), "i64")
            upper = code.value("arith.shli", (after, code.constant(32, "i64")), "i64")
            number = code.value("arith.ori", (number, upper), "i64")
    elif operands:
        number = _of_first(warp, operands[0]) if what == at.MEET_WARP else warp.scalar(operands[0])
        number = number if is_integer(number.type, 64) else code.value("arith.extui", (number,), "i64")
        count = warp.scalar(operands[1]) if operands[1:] else count
    nowhere = code.value("llvm.mlir.zero", (), "!llvm.ptr")
    code.call(SYNC, [code.constant(what, "i32"), *_threads(warp), number, count, nowhere])


def _barrier(warp: Warp, operands: Sequence[Value]) -> tuple[Value, Value]:
    """The number of a barrier among those of the cluster, and how many threads it waits for; 0 is all of the block."""
    code = warp.code
    number = code.constant(0, "i64")
    if operands:
        named = code.value("arith.extui", (warp.scalar(operands[0]),), "i64")
        number = code.value("arith.andi", (named, code.constant(at.NAMED - 1, "i64")), "i64")
    count = warp.scalar(operands[1]) if operands[1:] else code.constant(0, "i32")
    if (cluster := warp.arrays.cluster) is not None and cluster.blocks > 1:
        mine = code.value("arith.muli", (cluster.rank(), code.constant(at.OF_BLOCK, "i32")), "i32")
        number = code.value("arith.addi", (number, code.resized(mine, "i64")), "i64")
        count = count if operands[1:] else threads_of_block(warp)
    return number, count


def place(warp: Warp, operation: Operation) -> None:
    """`check.place`."""
    (pointer,) = operation.operands
    if isinstance(warp.get(pointer), StackSlot):
        return
    code, what = warp.code, int(operation.attributes["what"].value)
    narrow = int(operation.attributes["narrow"].value) if "narrow" in operation.attributes else 0
    nothing = [code.constant(0, "i64"), code.constant(narrow, "i32")]
    code.call(SYNC, [code.constant(what, "i32"), *_threads(warp), *nothing, _addresses(warp, pointer)])


def copy(warp: Warp, operation: Operation) -> None:
    """`check.copy`."""
    code = warp.code
    target, source, count = operation.operands
    counts = warp.arrays.scratch(code.wide("i32"), "bytes")
    code.store(warp.vector(count), counts, ALIGNMENT)
    places = [_addresses(warp, target, "targets"), _addresses(warp, source)]
    numbers = [code.constant(int(operation.attributes[name].value), "i32") for name in ("size", "site")]
    code.call(COPY, [*places, counts, *_threads(warp), *numbers])


def unset(warp: Warp, operation: Operation) -> None:
    """`check.unset`: reported only where a lane has an origin."""
    code, (origin,) = warp.code, operation.operands
    known = warp.analysis.at(origin)
    if known.known and known.uniform and known.constant == 0:
        return
    origins = warp.vector(origin)
    wrong = code.compare_lanes("ne", origins, code.constants([0] * code.width, "i32"))
    made = code.operation("scf.if", (code.any(wrong),), regions=2)
    before = code.enter(code.append_block(made, 0))
    slot = warp.arrays.scratch(code.wide("i32"), "origins")
    code.store(origins, slot, ALIGNMENT)
    site = code.constant(int(operation.attributes["site"].value), "i32")
    code.call(UNSET, [slot, *_threads(warp), site])
    code.operation("scf.yield")
    code.leave(before)


def call(warp: Warp, operation: Operation) -> None:
    """`check.call`: lanes of a warp are at the same stage."""
    code, attributes = warp.code, operation.attributes
    mask, first, _ = _threads(warp)
    stage, phase = (_of_first(warp, each) for each in operation.operands)
    place, what, stages, site = (
        code.constant(int(attributes[name].value), "i32") for name in ("place", "what", "stages", SITE_ATTRIBUTE)
    )
    code.call(CALL, [mask, first, place, what, stage, phase, stages, site])


def _of_first(warp: Warp, value: Value) -> Value:
    """What all lanes have, or the first active one of them."""
    known = warp.analysis.at(value)
    if known.known and known.uniform:
        return warp.scalar(value)
    lane = warp.code.constant(0, "i32") if warp.mask is None else warp.code.first(warp.mask)
    place = warp.code.value("arith.index_cast", (lane,), "index")
    return warp.code.extract_at(warp.vector(value), place, value.type)


def _threads(warp: Warp, lanes: int = 0) -> list[Value]:
    """The active lanes as bits, the number of the first thread, and how many lanes there are."""
    code, bits = warp.code, active(warp)
    if lanes:
        bits = code.value("arith.andi", (bits, code.constant((1 << lanes) - 1, "i64")), "i64")
    return [bits, first_number(warp), code.constant(code.width, "i32")]


def _stride(known: Lanes) -> int | None:
    """The bytes between the addresses of neighbours, if they are everywhere the same and known."""
    if not known.known or known.multiples:
        return None
    offsets = known.offsets or (0,)
    steps = {after - before for before, after in itertools.pairwise(offsets)}
    return next(iter(steps)) if len(steps) == 1 else None


def _addresses(warp: Warp, pointer: Value, role: str = "addresses") -> Value:
    """Memory with the address of every lane."""
    code = warp.code
    words = code.value("llvm.ptrtoint", (warp.vector(pointer),), code.wide("i64"))
    slot = warp.arrays.scratch(code.wide("i64"), role)
    code.store(words, slot, ALIGNMENT)
    return slot


def _kept(warp: Warp, values: list[Value]) -> Value:
    """Memory with what every lane is about to store, lane after lane, or null."""
    code = warp.code
    if not values:
        return code.value("llvm.mlir.zero", (), "!llvm.ptr")
    counted = count_and_element(values[0].type)
    vector = warp.vector(values[0]) if counted is None else packed_value(warp, values[0], *counted)
    slot = warp.arrays.scratch(vector.type, "stored")
    code.store(vector, slot, ALIGNMENT)
    return slot


def _levels(warp: Warp, steps: Sequence[int], counts: Sequence[Value]) -> Value:
    """Memory with the step and the count of each loop around a read; those that are left over run once."""
    code = warp.code
    missing = at.LEVELS - len(steps)
    numbers = [(code.constant(step, "i64"), warp.scalar(count)) for step, count in zip(steps, counts, strict=True)]
    numbers += [(code.constant(0, "i64"), code.constant(1, "i64"))] * missing
    slot = warp.arrays.scratch(code.type(f"!llvm.array<{2 * at.LEVELS} x i64>"), "levels")
    for i, number in enumerate(itertools.chain.from_iterable(numbers)):
        code.store(number, code.offset(slot, i, "i64"), 8)
    return slot


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    CHECK_ACCESS: access,
    CHECK_SYNC: sync,
    CHECK_PLACE: place,
    CHECK_COPY: copy,
    CHECK_UNSET: unset,
    CHECK_CALL: call,
}


class CheckCalls(AsyncProxyCalls):
    """Writes all calls of the checkers that one kernel makes."""

    handlers = HANDLERS

    def __init__(self, kernel: Operation, code: LaneBuilder) -> None:
        self._code, attributes = code, kernel.attributes
        self._facts = json.loads(attributes[CHECKS_ATTRIBUTE].value) if CHECKS_ATTRIBUTE in attributes else None

    def begin_block(self, position: LaunchCoordinates, threads: Value, shared: Value | None, size: Value) -> None:
        if self._facts is None:
            return
        code = self._code
        table = code.attribute(f'@"{self._facts["table"]}"')
        numbers = [code.constant(self._facts[name], "i32") for name in ("grain", "lanes", "mode")]
        start = shared if shared is not None else code.value("llvm.mlir.zero", (), "!llvm.ptr")
        extent = size if shared is not None else code.constant(0, "i32")
        address = code.value("llvm.mlir.addressof", (), "!llvm.ptr", {"global_name": table})
        code.call(BEGIN_BLOCK, [start, extent, threads, *numbers, *position.block_ids, address])

    def end_block(self) -> None:
        if self._facts is not None:
            self._code.call(END_BLOCK, [])


_POINTER, _LANES = "!llvm.ptr", ("i64", "i32", "i32")
_PARAMETERS: Mapping[str, Sequence[str]] = {
    BEGIN_BLOCK: (_POINTER, *("i32",) * 8, _POINTER),
    END_BLOCK: (),
    PASS_ALL: (),
    ACCESS: (_POINTER, *_LANES, "i32", "i32", "i32", _POINTER),
    ACCESS_RUN: (_POINTER, "i64", *_LANES, "i32", "i32", "i32", _POINTER),
    ACCESS_LOOP: (_POINTER, *_LANES, "i32", "i32", "i32", _POINTER),
    RUN_LOOP: (_POINTER, "i64", *_LANES, "i32", "i32", "i32", _POINTER),
    ACCESS_GLOBAL: (_POINTER, *_LANES, "i32", "i32", "i32", _POINTER),
    GLOBAL_RUN: (_POINTER, "i64", *_LANES, "i32", "i32", "i32", _POINTER),
    GLOBAL_LOOP: (_POINTER, *_LANES, "i32", "i32", "i32", _POINTER),
    GLOBAL_RUN_LOOP: (_POINTER, "i64", *_LANES, "i32", "i32", "i32", _POINTER),
    COPY: (_POINTER, _POINTER, _POINTER, *_LANES, "i32", "i32"),
    SYNC: ("i32", *_LANES, "i64", "i32", _POINTER),
    UNSET: (_POINTER, *_LANES, "i32"),
    CALL: ("i64", *("i32",) * 7),
    PHASE: ("i32", "i64", "i32", _POINTER, "i32"),
    LOAD: ("i32", _POINTER, _POINTER, "i64", "i32"),
    ASK: ("i32", _POINTER, "i32", "i32"),
    USE: ("i32", _POINTER, "i64", "i32", "i32"),
    TENSOR: ("i32",) * 7,
    TENSOR_COMMIT: ("i64", "i32", _POINTER, "i32"),
    TENSOR_WAIT: ("i32", "i32"),
    CHECK_DISCARD: (_POINTER, "i32"),
}
DECLARATIONS = "\n".join(
    [
        *(f"llvm.func @{name}({', '.join(kinds)})" for name, kinds in _PARAMETERS.items()),
        f"llvm.func @{CHECK_COLLECT}({_POINTER}) -> i32",
    ]
)
