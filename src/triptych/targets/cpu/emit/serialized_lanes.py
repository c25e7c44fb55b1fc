"""Serialized lanes: what active lanes do one after the other, accesses that no vector instruction has, and what may not
be done at once. Addresses and values wait in memory, where a run-time lane number finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from hashlib import sha256
from itertools import islice, pairwise
from string import Template
from typing import TYPE_CHECKING

from triptych.ir.handles import Operation, Type, Value
from triptych.ir.types import (
    GLOBAL_SPACE,
    SHARED_SPACE,
    bit_width,
    byte_size,
    count_and_element,
    element_type,
    is_float,
    is_integer,
    memory_space,
)
from triptych.kernel_ir.analysis.lanes import Lanes
from triptych.kernel_ir.dialects.kernel_operations import is_ordered
from triptych.support.dataclass import dataclass
from triptych.support.runs import Run, runs
from triptych.targets.cpu.abi.abi import ALIGNMENT
from triptych.targets.cpu.emit.warp import Warp

if TYPE_CHECKING:
    from triptych.targets.cpu.emit.lane_builder import LaneBuilder, Order

# Lane-by-lane access functions, each written once: not at every access that no instruction has.
#
# Input: the size of an access, its alignment, the lanes of a warp and whether some may be missing. Output: a function
# as MLIR text. It takes the memory in which the values of all lanes wait side by side, the address of each lane, and
# the active lanes as bits. Values are integers, whatever the program takes them for: what is moved is bits.

_MASK_BITS = 64
"""Lanes of the widest warp."""
_EVERY_LANE = Template("""
%begin = arith.constant 0 : index
%end = arith.constant $width : index
%step = arith.constant 1 : index
scf.for %number = %begin to %end step %step {
  %lane = arith.index_cast %number : index to i64
  $access
}""")
_ACTIVE_LANES = Template("""
$extended
%zero = arith.constant 0 : i64
%one = arith.constant 1 : i64
scf.while (%left = $bits) : (i64) -> i64 {
  %more = arith.cmpi ne, %left, %zero : i64
  scf.condition(%more) %left : i64
} do {
^bb0(%left: i64):
  %lane = math.cttz %left : i64
  $access
  %less = arith.subi %left, %one : i64
  %next = arith.andi %left, %less : i64
  scf.yield %next : i64
}""")
_WHERE = Template("""
  %from = llvm.getelementptr %kept[%lane] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %word = llvm.load %from {alignment = 8 : i64} : !llvm.ptr -> i64
  %address = llvm.inttoptr %word : i64 to !llvm.ptr
  %place = llvm.getelementptr %home[%lane] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<$count x i$bits>""")
_LOAD = Template("""
  %value = llvm.load %address {alignment = $alignment : i64} : !llvm.ptr -> $kind
  llvm.store %value, %place {alignment = $size : i64} : $kind, !llvm.ptr""")
_STORE = Template("""
  %value = llvm.load %place {alignment = $size : i64} : !llvm.ptr -> $kind
  llvm.store %value, %address {alignment = $alignment : i64} : $kind, !llvm.ptr""")
_CLEAR = Template("""
%nothing = llvm.mlir.zero : $every
llvm.store %nothing, %home {alignment = 64 : i64} : $every, !llvm.ptr""")
_COPY = Template("""
  %from = llvm.getelementptr %kept[%lane] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %word = llvm.load %from {alignment = 8 : i64} : !llvm.ptr -> i64
  %source = llvm.inttoptr %word : i64 to !llvm.ptr
  %to = llvm.getelementptr %targets[%lane] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %other = llvm.load %to {alignment = 8 : i64} : !llvm.ptr -> i64
  %target = llvm.inttoptr %other : i64 to !llvm.ptr
  %value = llvm.load %source {alignment = $alignment : i64} : !llvm.ptr -> $kind
  llvm.store %value, %target {alignment = $alignment : i64} : $kind, !llvm.ptr""")
_COPY_FUNCTION = Template("""
func.func private @"$name"(%addresses: vector<${width}x!llvm.ptr>, %others: vector<${width}x!llvm.ptr>, %mask: i$width)
    attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %once = arith.constant 1 : i64
  %kept = llvm.alloca %once x vector<${width}xi64> {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %words = llvm.ptrtoint %addresses : vector<${width}x!llvm.ptr> to vector<${width}xi64>
  llvm.store %words, %kept {alignment = 64 : i64} : vector<${width}xi64>, !llvm.ptr
  %targets = llvm.alloca %once x vector<${width}xi64> {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %more_words = llvm.ptrtoint %others : vector<${width}x!llvm.ptr> to vector<${width}xi64>
  llvm.store %more_words, %targets {alignment = 64 : i64} : vector<${width}xi64>, !llvm.ptr
  $body
  func.return
}""")
_FUNCTION = Template("""
func.func private @"$name"(%home: !llvm.ptr, %addresses: vector<${width}x!llvm.ptr>$mask)
    attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %once = arith.constant 1 : i64
  %kept = llvm.alloca %once x vector<${width}xi64> {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %words = llvm.ptrtoint %addresses : vector<${width}x!llvm.ptr> to vector<${width}xi64>
  llvm.store %words, %kept {alignment = 64 : i64} : vector<${width}xi64>, !llvm.ptr
  $body
  func.return
}""")


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """What every active lane reads or writes: `count` integers of `bits`, at an address of its own."""

    loads: bool
    bits: int
    count: int
    alignment: int
    width: int
    masked: bool

    @property
    def every(self) -> str:
        """The type of the values of all lanes."""
        return f"vector<{self.count * self.width}xi{self.bits}>"

    @property
    def part(self) -> str:
        """The type of each number."""
        return f"i{self.bits}"

    @property
    def row_alignment(self) -> int:
        """Of one number in every lane, after others."""
        return min(ALIGNMENT, self.bits // 8 * self.width)

    @property
    def shape(self) -> str:
        """What has so many numbers of this size."""
        return f"lanes{self.width}.{self.count}x{self.bits}"

    @property
    def name(self) -> str:
        what = f"{'load' if self.loads else 'store'}.{self.count}x{self.bits}.aligned{self.alignment}"
        return f"lanes{self.width}.{what}{'.masked' if self.masked else ''}"


@cache
def lane_function(access: LaneAccess) -> str:
    """The function of that name."""
    kind = f"i{access.bits}" if access.count == 1 else f"vector<{access.count}xi{access.bits}>"
    action = _WHERE.substitute(count=access.count, bits=access.bits) + (_LOAD if access.loads else _STORE).substitute(
        kind=kind, alignment=access.alignment, size=access.bits // 8
    )
    if access.masked:
        lines = _for_active_lanes(access.width, action)
    else:
        lines = _EVERY_LANE.substitute(width=access.width, access=action)
    if access.loads and access.masked:
        lines = _CLEAR.substitute(every=access.every) + lines
    mask = f", %mask: i{access.width}" if access.masked else ""
    return _FUNCTION.substitute(name=access.name, width=access.width, mask=mask, body=lines)


def _for_active_lanes(width: int, action: str) -> str:
    whole = width == _MASK_BITS
    extended = "" if whole else f"%bits = arith.extui %mask : i{width} to i{_MASK_BITS}"
    return _ACTIVE_LANES.substitute(bits="%mask" if whole else "%bits", extended=extended, access=action)


@dataclass(frozen=True, slots=True)
class LaneCopy:
    """What every active lane copies from one address of its own to another: integers of `bits`."""

    bits: int
    count: int
    alignment: int
    width: int

    @property
    def name(self) -> str:
        return f"lanes{self.width}.copy.{self.count}x{self.bits}.aligned{self.alignment}"


@cache
def copy_function(copy: LaneCopy) -> str:
    """The function of that name."""
    action = _COPY.substitute(kind=f"vector<{copy.count}xi{copy.bits}>", alignment=copy.alignment)
    return _COPY_FUNCTION.substitute(name=copy.name, width=copy.width, body=_for_active_lanes(copy.width, action))


def each_active(warp: Warp, act: Callable[[Value], None]) -> None:
    """A loop over the numbers (`index`) of the active lanes, in order."""
    code = warp.code
    if warp.mask is None:
        bounds = [code.constant(bound, "index") for bound in (0, code.width, 1)]
        made = code.operation("scf.for", bounds, regions=1)
        inside = code.append_block(made, 0, ["index"])
        outer = warp.region(inside, (), None)
        act(inside.arguments[0])
        code.operation("scf.yield")
        warp.leave(outer)
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
    outer = warp.region(inside, (), warp.mask)
    left = inside.arguments[0]
    act(code.value("arith.index_castui", (code.value("math.cttz", (left,), "i64"),), "index"))
    without = code.value("arith.andi", (left, code.value("arith.subi", (left, one), "i64")), "i64")
    code.operation("scf.yield", (without,))
    warp.leave(outer)


def load_in_turn(warp: Warp, addresses: Value, kind: Type, alignment: int, order: Order | None = None) -> Value:
    """What every active lane reads, by a loop; zero in the others."""
    code = warp.code
    count, element = count_and_element(kind) or (1, kind)
    every = code.vector(count * code.width, element)
    if not order and is_bytes(element):
        access = LaneAccess(True, 8 * byte_size(element), count, alignment, code.width, warp.mask is not None)
        slot = _call(warp, access, addresses, None)
        return code.value("vector.bitcast", (code.load(slot, access.every, ALIGNMENT),), every)
    slot = warp.arrays.scratch(every)
    code.store(code.zero(every), slot, byte_size(kind))
    sources = _kept_addresses(warp, addresses)

    def read(lane: Value) -> None:
        value = code.load(_kept_address(warp, sources, lane), kind, alignment, order)
        code.store(value, code.offset(slot, _number(warp, lane), _side_by_side(kind)), byte_size(element))

    each_active(warp, read)
    return code.load(slot, every, byte_size(kind))


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
    slot = warp.arrays.scratch(packed.type)
    code.store(packed, slot, byte_size(element))
    targets = _kept_addresses(warp, addresses)

    def write(lane: Value) -> None:
        value = code.load(code.offset(slot, _number(warp, lane), _side_by_side(kind)), kind, byte_size(element))
        code.store(value, _kept_address(warp, targets, lane), alignment, order)

    each_active(warp, write)


# Vectors whose elements are rows of lanes are put together and taken apart by functions, one for each size: in place,
# the shuffles of 8 numbers of 32 lanes took a fifth of the time that LLVM needed for a kernel of attention.


def load_rows_in_turn(warp: Warp, addresses: Value, kind: Type, alignment: int) -> list[Value]:
    """The elements of a vector that every active lane reads."""
    code, access = warp.code, _vectors(warp, kind, alignment, loads=True)
    packed, slots = _call(warp, access, addresses, None), warp.arrays.scratch(code.type(access.every), "rows")

    def write(given: Sequence[Value]) -> None:
        source, target = given
        every = code.load(source, access.every, ALIGNMENT)
        for i in range(access.count):
            places = range(i, access.count * access.width, access.count)
            code.store(
                code.shuffle(every, every, places, access.part), _row(code, target, i, access), access.row_alignment
            )

    warp.arrays.call(code, f"{access.shape}.to_rows", [packed, slots], write)
    element = element_type(kind)
    return [
        code.load(_row(code, slots, i, access), code.wide(element), access.row_alignment) for i in range(access.count)
    ]


def store_rows_in_turn(warp: Warp, rows: Sequence[Value], addresses: Value, kind: Type, alignment: int) -> None:
    """Write the elements of a vector in every active lane."""
    code, access = warp.code, _vectors(warp, kind, alignment, loads=False)
    packed, slots = (warp.arrays.scratch(code.type(access.every), role) for role in ("", "rows"))
    for i, row in enumerate(rows):
        code.store(row, _row(code, slots, i, access), access.row_alignment)

    def write(given: Sequence[Value]) -> None:
        source, target = given
        places, kind = (_row(code, source, i, access) for i in range(access.count)), code.wide(access.part)
        loaded = [code.load(place, kind, access.row_alignment) for place in places]
        code.store(code.interleaved(loaded, access.part), target, ALIGNMENT)

    warp.arrays.call(code, f"{access.shape}.from_rows", [slots, packed], write)
    _call(warp, access, addresses, None)


def _vectors(warp: Warp, kind: Type, alignment: int, *, loads: bool) -> LaneAccess:
    counted = count_and_element(kind)
    assert counted is not None, "a vector of the thread"
    count, element = counted
    return LaneAccess(loads, 8 * byte_size(element), count, alignment, warp.code.width, warp.mask is not None)


def _row(code: LaneBuilder, slots: Value, number: int, access: LaneAccess) -> Value:
    return code.offset(slots, number, code.wide(access.part)) if number else slots


def copy_in_turn(warp: Warp, source: Value, target: Value, kind: Type, alignment: int) -> None:
    """What every active lane copies from one address to another; nothing waits in memory in between."""
    code = warp.code
    assert warp.mask is not None, "some lanes are masked out"
    bits = code.bits(warp.mask)
    if warp.analysis.at(source).known and warp.analysis.at(target).known:
        _copy_at_distances(warp, source, target, kind, alignment, bits)
    else:
        _call_copy(warp, warp.vector(source), warp.vector(target), kind, alignment, bits)


def _call_copy(warp: Warp, sources: Value, targets: Value, kind: Type, alignment: int, bits: Value) -> None:
    """By a loop over the active lanes."""
    code, (count, element) = warp.code, count_and_element(kind) or (1, kind)
    copy = LaneCopy(8 * byte_size(element), count, alignment, code.width)
    warp.arrays.define(copy_function(copy))
    code.operation("func.call", (sources, targets, bits), attributes={"callee": code.attribute(f'@"{copy.name}"')})


def _copy_at_distances(warp: Warp, source: Value, target: Value, kind: Type, alignment: int, bits: Value) -> None:
    """By a function for all copies of lanes that are so far apart; where all are active, no lane is looked for."""
    code, sides = warp.code, warp.analysis.all((source, target))
    numbers = [number for lanes in sides for number, _ in lanes.multiples]

    def write(given: Sequence[Value]) -> None:
        *firsts, mask = given[:3]
        split = 3 + len(sides[0].multiples)
        lengths = given[3:split], given[split:]
        made = code.operation("scf.if", (code.compare("eq", mask, code.constant(-1, mask.type)),), regions=2)
        before = code.enter(code.append_block(made, 0))
        for one, other in zip(*map(partial(_addresses, code), firsts, sides, lengths), strict=True):
            code.store(code.load(one, kind, alignment), other, alignment)
        code.operation("scf.yield")
        code.leave(before)
        before = code.enter(code.append_block(made, 1))
        sources, targets = map(partial(_address_vector, code), firsts, sides, lengths)
        _call_copy(warp, sources, targets, kind, alignment, mask)
        code.operation("scf.yield")
        code.leave(before)

    apart = [(lanes.offsets, [times for _, times in lanes.multiples]) for lanes in sides]
    facts = (apart, str(kind), alignment, [str(number.type) for number in numbers])
    name = f"lanes{code.width}.copy.{sha256(str(facts).encode()).hexdigest()[:16]}"
    lengths = [warp.scalar(number) for number in numbers]
    warp.arrays.call(code, name, [warp.scalar(source), warp.scalar(target), bits, *lengths], write)


def _addresses(code: LaneBuilder, first: Value, lanes: Lanes, lengths: Sequence[Value]) -> Iterator[Value]:
    """The address of each lane, from that of lane 0 and the lengths of rows."""
    begins: dict[tuple[int, ...], Value] = {}
    for lane, distance in enumerate(lanes.offsets or ()):
        row = tuple(times[lane] for _, times in lanes.multiples)
        if row not in begins:
            begins[row] = first
            for count, length in ((count, length) for count, length in zip(row, lengths, strict=True) if count):
                far = code.value("arith.muli", (length, code.constant(count, length.type)), length.type)
                begins[row] = code.offset(begins[row], far, "i8")
        yield code.offset(begins[row], distance, "i8") if distance else begins[row]


def _address_vector(code: LaneBuilder, first: Value, lanes: Lanes, lengths: Sequence[Value]) -> Value:
    """The addresses of all lanes."""
    every = code.offset(first, code.constants(list(lanes.offsets or ()), "i64"), "i8")
    for (_, times), length in zip(lanes.multiples, lengths, strict=True):
        rows = (code.broadcast(length, length.type), code.constants(list(times), length.type))
        every = code.offset(every, code.value("arith.muli", rows, code.wide(length.type)), "i8")
    return every


def is_bytes(element: Type) -> bool:
    """Whether a vector of elements lies in memory as they do one by one: not bits, addresses or indices."""
    return (is_integer(element) or is_float(element)) and 8 * byte_size(element) == bit_width(element)


def _call(warp: Warp, access: LaneAccess, addresses: Value, stored: Value | None) -> Value:
    """Call the function of an access, with what is stored if it stores; gives the memory of the lanes' values."""
    code = warp.code
    warp.arrays.define(lane_function(access))
    slot = warp.arrays.scratch(code.type(access.every))
    if stored is not None:
        code.store(stored, slot, ALIGNMENT)
    given = [slot, addresses] if warp.mask is None else [slot, addresses, code.bits(warp.mask)]
    code.operation("func.call", given, attributes={"callee": code.attribute(f'@"{access.name}"')})
    return slot


def _side_by_side(kind: Type) -> str:
    """A type of the size that values have in a vector of all lanes: a vector of three takes the room of four."""
    count, element = count_and_element(kind) or (1, kind)
    return f"!llvm.array<{count} x {element}>"


def _kept_addresses(warp: Warp, addresses: Value) -> Value:
    """Memory that holds the addresses of the lanes."""
    code = warp.code
    slot = warp.arrays.scratch(code.wide("i64"), "addresses")
    code.store(code.value("llvm.ptrtoint", (addresses,), code.wide("i64")), slot, 8)
    return slot


def _kept_address(warp: Warp, slot: Value, lane: Value) -> Value:
    """The address of a lane (`index`)."""
    code = warp.code
    return code.value(
        "llvm.inttoptr", (code.load(code.offset(slot, _number(warp, lane), "i64"), "i64", 8),), "!llvm.ptr"
    )


def _number(warp: Warp, lane: Value) -> Value:
    """The number of a lane as memory counts (i64)."""
    return warp.code.value("arith.index_castui", (lane,), "i64")


# Paired loads and stores: a vector of every lane that goes from one memory to another.

_NEAR_THE_START = 16
_TWO_MEMORIES = {GLOBAL_SPACE, SHARED_SPACE}


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
    if {memory_space(source.type), memory_space(target.type)} != _TWO_MEMORIES or warp.analysis.at(target).uniform:
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
    """Strips of lanes: one after the other in memory, or all at one address."""
    return list(runs(range(len(known.offsets or ())), known.distance, (0, size)))


def in_runs(known: Lanes, size: int) -> bool:
    """Whether elements of the lanes lie in a few runs, so that rows of lanes are read and written."""
    return known.known and len(lane_runs(known, size)) <= _MOST_RUNS


def is_packed(known: Lanes, size: int) -> bool:
    """Whether the lanes' parts of so many bytes lie one after the other."""
    return known.has_stride(size)


_MOST_STEPS = 4


def is_regular(known: Lanes) -> bool:
    """Whether lanes are known to lie in a simple pattern. Others, as those of a swizzle, take a loop over the lanes:
    written out they would be as long, at each access, as the function is that all accesses share."""
    if not known.known:
        return False
    steps = {known.distance(lane, lane + 1) for lane in range(len(known.offsets or ()) - 1)}
    return len(steps) <= _MOST_STEPS
