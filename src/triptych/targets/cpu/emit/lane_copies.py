"""Paired loads and stores: a vector of every lane that goes from one memory to another."""

from __future__ import annotations

from itertools import islice, pairwise

from triptych.ir.handles import Operation, Type
from triptych.ir.types import GLOBAL_SPACE, SHARED_SPACE, byte_size, pointer_to
from triptych.kernel_ir.analysis.lanes import Lanes
from triptych.kernel_ir.dialects.kernel_operations import is_ordered
from triptych.support.runs import Run, runs
from triptych.targets.cpu.emit.serialized_lanes import is_bytes
from triptych.targets.cpu.emit.warp import Warp

_NEAR_THE_START = 16
_TWO_MEMORIES = {pointer_to(GLOBAL_SPACE), pointer_to(SHARED_SPACE)}


def copied_by(warp: Warp, load_: Operation, counted: tuple[int, Type]) -> Operation | None:
    """The store right behind a load that takes all of it to another memory, if both are done lane after lane.

    In one memory a lane could read what another has written by then.
    """
    uses = list(load_.results[0].uses)
    if warp.mask is None or len(uses) != 1 or not is_bytes(counted[1]):
        return None
    store_ = uses[0].owner.operation
    if store_.name != "llvm.store" or is_ordered(store_) or uses[0].operand_number != 0:
        return None
    source, target = load_.operands[0], store_.operands[1]
    if {str(source.type), str(target.type)} != _TWO_MEMORIES or warp.analysis.at(target).uniform:
        return None
    size = byte_size(counted[1])
    known = [warp.analysis.at(pointer) for pointer in (source, target)]
    one_by_one = all(not (is_packed(each, counted[0] * size) or in_runs(each, size)) for each in known)
    return store_ if one_by_one and _is_next(load_, store_) else None


def _is_next(operation: Operation, other: Operation) -> bool:
    """Whether one follows the other at once, near the start of a block: what copies is a block by itself."""
    some = [each.operation for each in islice(operation.block.operations, _NEAR_THE_START)]
    return any(pair == (operation, other) for pair in pairwise(some))


# Contiguous runs of lane addresses: lanes one after the other in memory, or all at one address.

_MOST_RUNS = 8
"""Runs that are read one by one; more are gathered."""


def lane_runs(known: Lanes, size: int) -> list[Run]:
    """Stretches of lanes: one after the other in memory, or all at one address."""
    return list(runs(range(len(known.offsets or ())), known.distance, (0, size)))


def in_runs(known: Lanes, size: int) -> bool:
    """Whether elements of the lanes lie in a few runs, so that rows of lanes are read and written."""
    return known.known and len(lane_runs(known, size)) <= _MOST_RUNS


def is_packed(known: Lanes, size: int) -> bool:
    """Whether the lanes' parts of so many bytes lie one after the other."""
    return known.has_stride(size)
