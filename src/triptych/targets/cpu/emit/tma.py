"""TMA copies on a CPU: done when they are issued, by a function for each kind of box.

Every active lane makes its own copy; an elected one is alone. What an mbarrier is to count is counted at once. Groups
of copies are complete when they are closed, and there is nothing to prefetch: a CPU looks ahead by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.dialects.simt import BULK_COMMIT, BULK_WAIT
from triptych.kernel_ir.dialects.tile import (
    CTA_PAIR,
    TENSOR_MAP_BYTES,
    TENSORMAP_ACQUIRE,
    TENSORMAP_CP_FENCEPROXY,
    TENSORMAP_PREFETCH,
    TENSORMAP_RELEASE,
    TENSORMAP_REPLACE,
    TMA_LOAD,
    TMA_PREFETCH,
    TMA_STORE,
)
from triptych.targets.cpu.emit.async_queue import LOADS, STORES, commit_copies, defer, wait_for_copies
from triptych.targets.cpu.emit.barrier_state import State
from triptych.targets.cpu.emit.collectives import no_op
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.mbarriers import complete
from triptych.targets.cpu.emit.serialized_lanes import each_active
from triptych.targets.cpu.emit.tma_functions import (
    BOX,
    EXTENTS,
    LOAD,
    SIZE,
    STRIDES,
    BoxCopy,
    box_function,
    box_function_everywhere,
    swizzle_bits,
)
from triptych.targets.cpu.emit.values import plain_pointer
from triptych.targets.cpu.emit.warp import Warp

_BEFORE_COORDINATES = 4
"""Operands of a load: the map, where the box goes, the mbarrier and the blocks."""


def load(warp: Warp, operation: Operation) -> None:
    copy, multicast = _copy(operation, LOAD), bool(operation.attributes["multicast"].value)
    pair = CTA_PAIR in operation.attributes

    def once(given: list[Value], lane: Value) -> None:
        used, shared, barrier, blocks, *where = given

        def into(target: Value, counter: Value) -> None:
            values = [used, target, counter, *where]
            for low, size in _ranges(warp, operation, copy, used, target):
                warp.arrays.observer.begins(warp, operation, lane, low, size, counter)
            defer(warp, LOADS, values, copied, keeps_map=True)

        def copied(state: State | None, values: list[Value]) -> None:
            used, target, counter, *where = values
            complete(warp.code, state, counter, _call(warp, copy, [used, target, *where]))

        def into_block(rank: Value) -> None:
            at = warp.arrays.of_rank(warp, operation, shared, rank)
            into(at, warp.arrays.of_rank(warp, operation, barrier, first_of_pair(warp.code, rank) if pair else rank))

        if multicast:
            each_bit(warp.code, blocks, into_block)
        elif pair:
            into_block(own_rank(warp))
        else:
            into(shared, barrier)

    each_lane(warp, operation, once)


def store(warp: Warp, operation: Operation) -> None:
    copy = _copy(operation, operation.attributes["kind"].value)

    def stored(_: State | None, values: list[Value]) -> None:
        _call(warp, copy, values)

    def once(given: list[Value], lane: Value) -> None:
        for low, size in _ranges(warp, operation, copy, *given[:2]):
            warp.arrays.observer.begins(warp, operation, lane, low, size)
        defer(warp, STORES, given, stored, keeps_map=True)

    each_lane(warp, operation, once)


def _ranges(
    warp: Warp, operation: Operation, copy: BoxCopy, used: Value, shared: Value
) -> list[tuple[Value, int | Value]]:
    """The bytes of shared memory that a box takes. Where only its map knows them, who checks asks it as it is now."""
    if copy.is_known:
        return [(shared, prod(copy.box) * copy.element_bytes)]
    if not warp.arrays.observer.observes(operation):
        return []
    code = warp.code

    def word(place: int) -> Value:
        return code.resized(code.load(code.offset(used, place, "i16"), "i16", 2), "i64")

    size = word(4 * SIZE)
    for i in range(len(copy.box)):
        size = code.value("arith.muli", (size, word(4 * BOX + i)), "i64")
    return [(shared, size)]


def replace_map(warp: Warp, operation: Operation) -> None:
    """Write what the tensor is into a map in memory."""

    def once(given: list[Value], _: Value) -> None:
        used, base, *numbers = given
        write_map(warp.code, used, base, numbers)

    each_lane(warp, operation, once)


def publish_map(warp: Warp, operation: Operation) -> None:
    """The lanes of the warp copy one map together."""

    def once(given: list[Value], _: Value) -> None:
        target, source = given
        kind = f"vector<{TENSOR_MAP_BYTES // 4}xi32>"
        warp.code.store(warp.code.load(source, kind, 8), target, 8)

    each_lane(warp, operation, once)


def write_map(code: LaneBuilder, place: Value, base: Value, numbers: Sequence[Value]) -> None:
    """Base, extents and strides as functions that copy boxes read them."""
    rank = (len(numbers) + 1) // 2
    words = [*range(EXTENTS, EXTENTS + rank), *range(STRIDES, STRIDES + rank - 1)]
    code.store(base, place, 8)
    for word, number in zip(words, numbers, strict=True):
        code.store(number, code.offset(place, word, "i64"), 8)


def write_box(code: LaneBuilder, place: Value, box: Sequence[int], element_bytes: int, swizzle: int) -> None:
    """What a box is, for copies that do not know it."""
    halves = [*box, *(0,) * (4 * (SIZE - BOX) - len(box))]
    words = [sum(half << 16 * i for i, half in enumerate(halves[at : at + 4])) for at in range(0, len(halves), 4)]
    for word, number in enumerate([*words, element_bytes, *swizzle_bits(swizzle).values()], BOX):
        code.store(code.constant(number, "i64"), code.offset(place, word, "i64"), 8)


def each_lane(warp: Warp, operation: Operation, act: Callable[[list[Value], Value], None]) -> None:
    """With the operands of the lane, and its number (i32)."""
    kinds = [plain_pointer(operand.type) for operand in operation.operands]

    def once(lane: Value) -> None:
        number = warp.code.value("arith.index_castui", (lane,), "i32")
        act([warp.lane(o, lane, kind) for o, kind in zip(operation.operands, kinds, strict=True)], number)

    each_active(warp, once)


def each_bit(code: LaneBuilder, bits: Value, act: Callable[[Value], None]) -> None:
    """What is done for every bit of a mask (i32), with its number (i32)."""
    zero, one = code.constant(0, "i32"), code.constant(1, "i32")
    made = code.operation("scf.while", (bits,), ["i32"], regions=2)
    head = code.append_block(made, 0, ["i32"])
    before = code.enter(head)
    code.operation("scf.condition", (code.compare("ne", head.arguments[0], zero), head.arguments[0]))
    code.leave(before)
    inside = code.append_block(made, 1, ["i32"])
    before = code.enter(inside)
    left = inside.arguments[0]
    act(code.value("math.cttz", (left,), "i32"))
    without = code.value("arith.andi", (left, code.value("arith.subi", (left, one), "i32")), "i32")
    code.operation("scf.yield", (without,))
    code.leave(before)


def own_rank(warp: Warp) -> Value:
    """The number (i32) of this block in its cluster."""
    cluster = warp.arrays.cluster
    return warp.code.constant(0, "i32") if cluster is None else cluster.rank()


def first_of_pair(code: LaneBuilder, rank: Value) -> Value:
    """The block of the same pair that issues its products."""
    return code.value("arith.andi", (rank, code.constant(-2, "i32")), "i32")


def _copy(operation: Operation, kind: str) -> BoxCopy:
    attributes = operation.attributes
    element = attributes["type"].value if "type" in attributes else ""
    box = tuple(int(extent) for extent in attributes["box"]) or (0,) * (len(operation.operands) - _BEFORE_COORDINATES)
    return BoxCopy(kind, box, int(attributes["bytes"].value), int(attributes["swizzle"].value), element)


def _call(warp: Warp, copy: BoxCopy, given: Sequence[Value]) -> Value:
    """Copy a box; its bytes (i64)."""
    loads = copy.kind == LOAD
    warp.arrays.define(box_function(copy) if loads else box_function_everywhere(copy))
    name = copy.name if loads else f"{copy.name}.everywhere"
    attributes = {"callee": warp.code.attribute(f'@"{name}"')}
    return warp.code.value("func.call", given, "i64", attributes)


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    TMA_LOAD: load,
    TMA_STORE: store,
    TMA_PREFETCH: no_op,
    TENSORMAP_PREFETCH: no_op,
    TENSORMAP_REPLACE: replace_map,
    TENSORMAP_CP_FENCEPROXY: publish_map,
    TENSORMAP_RELEASE: no_op,
    TENSORMAP_ACQUIRE: no_op,
    BULK_COMMIT: commit_copies,
    BULK_WAIT: wait_for_copies,
}
