"""Serialized lanes: what active lanes do one after the other, accesses that no vector instruction has, and what may not
be done at once. Addresses and values wait in memory, where a run-time lane number finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from triptych.ir.handles import Type, Value
from triptych.ir.types import bit_width, byte_size, count_and_element, element_type, is_float, is_integer
from triptych.targets.cpu.abi.memory_sizes import ALIGNMENT
from triptych.targets.cpu.emit.lane_functions import LaneAccess, LaneCopy, copy_function, lane_function

if TYPE_CHECKING:
    from triptych.targets.cpu.emit.lane_builder import Order
from triptych.targets.cpu.emit.warp import Warp


def each_active(warp: Warp, act: Callable[[Value], None]) -> None:
    """A loop over the numbers (`index`) of the active lanes, in order."""
    code = warp.code
    if warp.mask is None:
        bounds = [code.constant(bound, "index") for bound in (0, code.width, 1)]
        made = code.operation("scf.for", bounds, regions=1)
        inside = code.append_block(made, 0, ["index"])
        before = code.enter(inside)
        act(inside.arguments[0])
        code.operation("scf.yield")
        code.leave(before)
        return
    zero, one = code.constant(0, "i64"), code.constant(1, "i64")
    bits = code.resized(code.bits(warp.mask), "i64")
    made = code.operation("scf.while", (bits,), ["i64"], regions=2)
    head = code.append_block(made, 0, ["i64"])
    before = code.enter(head)
    left = head.arguments[0]
    code.operation("scf.condition", (code.compare("ne", left, zero), left))
    code.leave(before)
    inside = code.append_block(made, 1, ["i64"])
    before = code.enter(inside)
    left = inside.arguments[0]
    act(code.value("arith.index_castui", (code.value("math.cttz", (left,), "i64"),), "index"))
    without = code.value("arith.andi", (left, code.value("arith.subi", (left, one), "i64")), "i64")
    code.operation("scf.yield", (without,))
    code.leave(before)


def load_in_turn(warp: Warp, addresses: Value, kind: Type, alignment: int, order: Order | None = None) -> Value:
    """What every active lane reads, by a loop; zero in the others."""
    code = warp.code
    count, element = count_and_element(kind) or (1, kind)
    every = code.vector(count * code.width, element)
    if not order and is_bytes(element):
        access = LaneAccess(True, 8 * byte_size(element), count, alignment, code.width, warp.mask is not None)
        home = _call(warp, access, addresses, None)
        return code.value("vector.bitcast", (code.load(home, access.every, ALIGNMENT),), every)
    home = warp.arrays.scratch(every)
    code.store(code.zero(every), home, byte_size(kind))
    sources = _kept_addresses(warp, addresses)

    def read(lane: Value) -> None:
        value = code.load(_kept_address(warp, sources, lane), kind, alignment, order)
        code.store(value, code.offset(home, _number(warp, lane), _side_by_side(kind)), byte_size(element))

    each_active(warp, read)
    return code.load(home, every, byte_size(kind))


def store_in_turn(
    warp: Warp, packed: Value, addresses: Value, kind: Type, alignment: int, order: Order | None = None
) -> None:
    """What every active lane writes, by a loop."""
    code, element = warp.code, element_type(kind)
    if not order and is_bytes(element):
        count, _ = count_and_element(kind) or (1, kind)
        access = LaneAccess(False, 8 * byte_size(element), count, alignment, code.width, warp.mask is not None)
        _call(warp, access, addresses, code.value("vector.bitcast", (packed,), access.every))
        return
    home = warp.arrays.scratch(packed.type)
    code.store(packed, home, byte_size(element))
    targets = _kept_addresses(warp, addresses)

    def write(lane: Value) -> None:
        value = code.load(code.offset(home, _number(warp, lane), _side_by_side(kind)), kind, byte_size(element))
        code.store(value, _kept_address(warp, targets, lane), alignment, order)

    each_active(warp, write)


def copy_in_turn(warp: Warp, sources: Value, targets: Value, kind: Type, alignment: int) -> None:
    """What every active lane copies, by one loop: nothing waits in memory between reading and writing."""
    code, (count, element) = warp.code, count_and_element(kind) or (1, kind)
    assert warp.mask is not None
    copy = LaneCopy(8 * byte_size(element), count, alignment, code.width)
    warp.arrays.define(copy_function(copy))
    given = (sources, targets, code.bits(warp.mask))
    code.operation("func.call", given, attributes={"callee": code.attribute(f'@"{copy.name}"')})


def is_bytes(element: Type) -> bool:
    """Whether a vector of elements lies in memory as they do one by one: not bits, addresses or indices."""
    return (is_integer(element) or is_float(element)) and 8 * byte_size(element) == bit_width(element)


def _call(warp: Warp, access: LaneAccess, addresses: Value, stored: Value | None) -> Value:
    """Call the function of an access, with what is stored if it stores; gives the memory of the lanes' values."""
    code = warp.code
    warp.arrays.define(lane_function(access))
    home = warp.arrays.scratch(code.type(access.every))
    if stored is not None:
        code.store(stored, home, ALIGNMENT)
    given = [home, addresses] if warp.mask is None else [home, addresses, code.bits(warp.mask)]
    code.operation("func.call", given, attributes={"callee": code.attribute(f'@"{access.name}"')})
    return home


def _side_by_side(kind: Type) -> str:
    """A type of the size that values have in a vector of all lanes: a vector of three takes the room of four."""
    count, element = count_and_element(kind) or (1, kind)
    return f"!llvm.array<{count} x {element}>"


def _kept_addresses(warp: Warp, addresses: Value) -> Value:
    """Memory that holds the addresses of the lanes."""
    code = warp.code
    home = warp.arrays.scratch(code.wide("i64"), "addresses")
    code.store(code.value("llvm.ptrtoint", (addresses,), code.wide("i64")), home, 8)
    return home


def _kept_address(warp: Warp, home: Value, lane: Value) -> Value:
    """The address of a lane (`index`)."""
    code = warp.code
    return code.value(
        "llvm.inttoptr", (code.load(code.offset(home, _number(warp, lane), "i64"), "i64", 8),), "!llvm.ptr"
    )


def _number(warp: Warp, lane: Value) -> Value:
    """The number of a lane as memory counts (i64)."""
    return warp.code.value("arith.index_castui", (lane,), "i64")
