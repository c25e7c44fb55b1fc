"""What the checkers are told of mbarriers, boxes, bulk stores, products and clusters (debug builds).

`instrument-checks` marks such operations with a site; whoever converts one calls what is here, with the addresses that
it works on. Without the mark nothing is written.
"""

from __future__ import annotations

from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.dialects.check import SITE_ATTRIBUTE
from triptych.kernel_ir.dialects.warpgroup_mma import WARPGROUP_WARPS
from triptych.targets.cpu.emit.code import Code
from triptych.targets.cpu.emit.warp import Warp
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.async_proxy_code import LOAD, PHASE, USE
from triptych.targets.cpu.sanitizer.happens_before_code import SYNC


def is_told(operation: Operation) -> bool:
    """Whether the checkers of a kernel are told of an operation."""
    return SITE_ATTRIBUTE in operation.attributes


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
    """The active lanes as bits (i64), or one of them (its number is an i32)."""
    code = warp.code
    if lane is not None:
        return code.value("arith.shli", (code.constant(1, "i64"), code.resized(lane, "i64")), "i64")
    if warp.mask is None:
        return code.constant((1 << code.width) - 1 if code.width < 64 else -1, "i64")
    return code.resized(code.bits(warp.mask), "i64")


def phase(warp: Warp, operation: Operation, what: int, pointer: Value, lanes: Value) -> None:
    """These lanes are about to make or to use an mbarrier, to arrive at it, or have seen its phase end."""
    if is_told(operation):
        code = warp.code
        code.call(PHASE, [code.constant(what, "i32"), lanes, first_number(warp), pointer, _site(code, operation)])


def load(warp: Warp, operation: Operation, lane: Value, target: Value, barrier: Value, size: int | Value) -> None:
    """A thread begins a copy whose bytes an mbarrier counts."""
    if is_told(operation):
        code = warp.code
        thread = code.value("arith.addi", (first_number(warp), lane), "i32")
        code.call(LOAD, [thread, target, barrier, code.counted(size), _site(code, operation)])


def use(warp: Warp, operation: Operation, lane: Value, low: Value, size: int | Value, party: int) -> None:
    """A bulk store, or a product, begins to read shared memory."""
    if is_told(operation):
        code = warp.code
        thread = code.value("arith.addi", (first_number(warp), lane), "i32")
        given = [thread, low, code.counted(size), _site(code, operation), code.constant(party, "i32")]
        code.call(USE, given)


def step(warp: Warp, operation: Operation, what: int, newest: int = 0) -> None:
    """Active lanes fence, close a group, or have waited for groups."""
    if is_told(operation):
        code = warp.code
        place = code.value("arith.andi", (warp.number, code.constant(WARPGROUP_WARPS - 1, "i32")), "i32")
        _sync(warp, what, code.resized(place, "i64"), newest)


def cluster(warp: Warp, operation: Operation, what: int) -> None:
    """The warp comes to the barrier of its cluster, or is behind it."""
    if is_told(operation) and warp.arrays.cluster is not None:
        blocks = warp.code.constant(warp.arrays.cluster.blocks, "i32")
        _sync(warp, what, at.OF_CLUSTER, warp.code.value("arith.muli", (threads_of_block(warp), blocks), "i32"))


def _sync(warp: Warp, what: int, number: int | Value, count: int | Value) -> None:
    code = warp.code
    numbered = code.counted(number)
    counted = code.constant(count, "i32") if isinstance(count, int) else count
    threads = [active(warp), first_number(warp), code.constant(code.width, "i32")]
    nowhere = code.value("llvm.mlir.zero", (), "!llvm.ptr")
    code.call(SYNC, [code.constant(what, "i32"), *threads, numbered, counted, nowhere])


def _site(code: Code, operation: Operation) -> Value:
    return code.constant(int(operation.attributes[SITE_ATTRIBUTE].value), "i32")
