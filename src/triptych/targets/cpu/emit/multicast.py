"""Addresses that stand for one place on all GPUs: the ranks of this machine have it at known distances (`ranks`)."""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.dialects.simt import IS_MULTICAST, MULTICAST_RANKS, MULTICAST_STRIDE
from triptych.ranks.addresses import BASE, COUNT_WORD, MULTICAST, WINDOW
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.values import Scalar, Vector
from triptych.targets.cpu.emit.warp import Warp


def is_multicast(warp: Warp, operation: Operation) -> None:
    """Whether an address lies in the window of such addresses."""
    code, (address,), result = warp.code, operation.operands, operation.results[0]
    if warp.analysis.at(result).uniform and isinstance(warp.get(address), Scalar):
        warp.set(result, Scalar(stands_for_all(code, warp.scalar(address))))
        return
    start, size = (code.constants([number] * code.width, "i64") for number in (MULTICAST, WINDOW))
    within = code.value("arith.subi", (warp.vector(address), start), code.wide("i64"))
    warp.set(result, Vector(code.compare_lanes("ult", within, size)))


def stands_for_all(code: LaneBuilder, address: Value) -> Value:
    """The same of one address (i64)."""
    within = code.value("arith.subi", (address, code.constant(MULTICAST, "i64")), "i64")
    return code.compare("ult", within, code.constant(WINDOW, "i64"))


def count_ranks(code: LaneBuilder) -> Value:
    """How many ranks there are (i32). The process belongs to a group."""
    word = code.value("llvm.inttoptr", (code.constant(BASE + 8 * COUNT_WORD, "i64"),), "!llvm.ptr")
    return code.load(word, "i32", 8)


def ranks(warp: Warp, operation: Operation) -> None:
    """The number of ranks."""
    warp.set(operation.results[0], Scalar(count_ranks(warp.code)))


def stride(warp: Warp, operation: Operation) -> None:
    """From the memory of one rank to that of the next."""
    warp.set(operation.results[0], Scalar(warp.code.constant(WINDOW, "i64")))


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    IS_MULTICAST: is_multicast,
    MULTICAST_RANKS: ranks,
    MULTICAST_STRIDE: stride,
}
