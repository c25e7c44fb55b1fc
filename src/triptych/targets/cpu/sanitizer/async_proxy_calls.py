"""What the checkers are told of mbarriers, boxes, bulk stores, products and clusters (debug builds).

`instrument-checks` marks such operations with a site; without the mark nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping

from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.check import SITE_ATTRIBUTE
from triptych.kernel_ir.dialects.tile import WGMMA_COMMIT, WGMMA_STEPS, WGMMA_WAIT
from triptych.kernel_ir.dialects.warpgroup_mma import WARPGROUP_WARPS
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.warp import Observer, Warp
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.async_proxy_code import LOAD, PHASE, USE
from triptych.targets.cpu.sanitizer.happens_before_code import SYNC

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


class AsyncProxyCalls(Observer):
    """Writes calls of the checkers for operations that go on by themselves, or order such ones."""

    def is_told(self, operation: Operation) -> bool:
        return SITE_ATTRIBUTE in operation.attributes

    def phase(
        self, warp: Warp, operation: Operation, pointer: Value, lane: Value | None = None, *, over: bool = False
    ) -> None:
        if SITE_ATTRIBUTE in operation.attributes:
            code, lanes = warp.code, active(warp, lane)
            what = at.PASS_PHASE if over else _PHASES.get(operation.name, at.ARRIVE_PHASE)
            code.call(PHASE, [code.constant(what, "i32"), lanes, first_number(warp), pointer, _site(code, operation)])

    def begins(
        self, warp: Warp, operation: Operation, lane: Value, low: Value, size: int | Value, barrier: Value | None = None
    ) -> None:
        if SITE_ATTRIBUTE in operation.attributes:
            code = warp.code
            thread = code.value("arith.addi", (first_number(warp), lane), "i32")
            counted, site = code.counted(size), _site(code, operation)
            if barrier is not None:
                code.call(LOAD, [thread, low, barrier, counted, site])
            else:
                party = at.PRODUCT_PARTY if operation.name in WGMMA_STEPS else at.STORE_PARTY
                code.call(USE, [thread, low, counted, site, code.constant(party, "i32")])

    def sync(self, warp: Warp, operation: Operation) -> None:
        if SITE_ATTRIBUTE not in operation.attributes:
            return
        name, attributes = operation.name, operation.attributes
        if name == simt.CLUSTER_ARRIVE:
            _meet_cluster(warp, at.ARRIVE_RELAXED if attributes["order"].value == "relaxed" else at.ARRIVE)
        elif name == simt.CLUSTER_WAIT:
            _meet_cluster(warp, at.PASS_NAMED)
        else:
            newest = int(attributes["groups"].value) if name in (simt.BULK_WAIT, WGMMA_WAIT) else 0
            place = warp.code.value("arith.andi", (warp.number, warp.code.constant(WARPGROUP_WARPS - 1, "i32")), "i32")
            _sync(warp, _STEPS[name], warp.code.resized(place, "i64"), warp.code.constant(newest, "i32"))


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
        _sync(warp, what, warp.code.constant(at.OF_CLUSTER, "i64"), threads)


def _sync(warp: Warp, what: int, number: Value, count: Value) -> None:
    code = warp.code
    threads = [active(warp), first_number(warp), code.constant(code.width, "i32")]
    nowhere = code.value("llvm.mlir.zero", (), "!llvm.ptr")
    code.call(SYNC, [code.constant(what, "i32"), *threads, number, count, nowhere])


def _site(code: LaneBuilder, operation: Operation) -> Value:
    return code.constant(int(operation.attributes[SITE_ATTRIBUTE].value), "i32")
