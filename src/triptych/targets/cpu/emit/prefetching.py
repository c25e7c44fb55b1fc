"""Memory that is asked for ahead: one request for each line of the cache that the lanes of a warp mean."""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.handles import Operation
from triptych.kernel_ir.analysis.lanes import Lanes
from triptych.kernel_ir.dialects.simt import PREFETCH
from triptych.targets.cpu.emit.memory import lane_address
from triptych.targets.cpu.emit.values import Private
from triptych.targets.cpu.emit.warp import Warp

_LINE = 64
"""Bytes of a line on every machine that LLVM compiles this for with vectors; a guess costs a request too many."""
_MOST = 16
"""Requests of a warp: with more, lanes are scattered and the requests would cost more than they save."""


def prefetch(warp: Warp, operation: Operation) -> None:
    """Inactive lanes ask too: it does no harm. Lanes whose addresses are known only at run time do not."""
    (pointer,) = operation.operands
    known = warp.analysis.at(pointer)
    if isinstance(warp.get(pointer), Private) or not known.known:
        return
    lanes = _one_of_each_line(known)
    if len(lanes) > _MOST:
        return
    attribute = warp.code.builder.integer
    attributes = {"rw": attribute("i32", 0), "hint": attribute("i32", 3), "cache": attribute("i32", 1)}
    for lane in lanes:
        warp.code.operation("llvm.intr.prefetch", (lane_address(warp, pointer, lane),), attributes=attributes)


def _one_of_each_line(known: Lanes) -> list[int]:
    """Lanes no two of which are known to be nearer than a line."""
    found: list[int] = []
    for lane in range(len(known.offsets or ())):
        distances = (known.distance(other, lane) for other in found)
        if all(distance is None or abs(distance) >= _LINE for distance in distances):
            found.append(lane)
    return found


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {PREFETCH: prefetch}
