"""Collective operations of lanes: shuffles, votes, reductions, and what every active lane does in turn (printing)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triptych.diagnostics.kernel_errors import PartialWarpError
from triptych.diagnostics.runtime_errors import CompiledCodeError, OutOfBoundsError
from triptych.ir.builder import ERROR_ATTRIBUTE
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Attribute, Operation, Type, Value
from triptych.ir.location import place_of
from triptych.ir.types import byte_size, is_float, is_integer
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.kernel_operations import constant_of, defining_op
from triptych.kernel_ir.dialects.tile import WARP_THREADS
from triptych.targets.cpu.abi.abi import ALIGNMENT
from triptych.targets.cpu.abi.system import CLOCK, system
from triptych.targets.cpu.emit.memory import gather
from triptych.targets.cpu.emit.serialized_lanes import each_active
from triptych.targets.cpu.emit.values import Scalar, Vector
from triptych.targets.cpu.emit.warp import Warp

# Whether all lanes of a warp access memory inside its bounds: asked of the first and the last address (debug builds).
# Lanes a known distance apart are inside if the range of all of them is: two comparisons of numbers. Only where that
# fails, lanes that are not active may be the reason, and each is asked.

_AT_LEAST, _AT_MOST = 5, 3
"""Predicates of `arith.cmpi`: of signed numbers."""


def all_inside(warp: Warp, check: Operation) -> Value | None:
    """A number (i1) that is true only if every lane is inside; None for other checks, and other lanes."""
    attributes = check.attributes
    if ERROR_ATTRIBUTE not in attributes or attributes[ERROR_ATTRIBUTE].value != OutOfBoundsError.__name__:
        return None
    sides = _sides(check.operands[0])
    if sides is None:
        return None
    offset, limit = sides
    lanes = warp.analysis.at(offset)
    if not lanes.fixed or not warp.analysis.at(limit).uniform:
        return None
    code, differences = warp.code, lanes.offsets or (0,)
    least = code.value("arith.addi", (warp.scalar(offset), code.constant(min(differences), "i64")), "i64")
    span = code.constant(max(differences) - min(differences), "i64")
    most = code.value("arith.subi", (warp.scalar(limit), span), "i64")
    above = code.compare("sge", least, code.constant(0, "i64"))
    return code.value("arith.andi", (above, code.compare("sle", least, most)), "i1")


def _sides(condition: Value) -> tuple[Value, Value] | None:
    """Of `offset >= 0 and offset <= limit`: both numbers."""
    both = defining_op(condition)
    if both is None or both.name != "arith.andi":
        return None
    sides = [defining_op(operand) for operand in both.operands]
    if any(side is None or side.name != "arith.cmpi" for side in sides):
        return None
    low, high = sides
    assert low is not None, "both sides are comparisons"
    assert high is not None, "both sides are comparisons"
    predicates = [int(side.attributes["predicate"].value) for side in (low, high)]
    if predicates != [_AT_LEAST, _AT_MOST] or constant_of(low.operands[1]) != 0:
        return None
    return (high.operands[0], high.operands[1]) if low.operands[0] == high.operands[0] else None


_REDUCTIONS = {
    "add": ("add", "0"),
    "min": ("minsi", "2147483647"),
    "max": ("maxsi", "-2147483648"),
    "umin": ("minui", "-1"),
    "umax": ("maxui", "0"),
    "and": ("and", "-1"),
    "or": ("or", "0"),
    "xor": ("xor", "0"),
}
"""By kind: the vector reduction and its neutral number."""
_EXTREMES = {"fmin": ("minimumf", "0x7F800000"), "fmax": ("maximumf", "0xFF800000")}
_ORDERED, _NAN = 7, "0x7FC00000"


def source_lane(kind: str, lane: int, offset: int, mask_and_clamp: int, lanes: int) -> int:
    """The lane of a warp of `lanes` that a shuffle reads from, by what the dialect says of its operands."""
    bits = lanes - 1
    segment, clamp = mask_and_clamp >> 8 & bits, mask_and_clamp & bits
    offset &= bits
    last = lane & segment | clamp & ~segment
    first = lane & segment
    source = {
        "up": lane - offset,
        "down": lane + offset,
        "bfly": lane ^ offset,
        "idx": first | offset & ~segment,
    }[kind]
    inside = source >= last if kind == "up" else source <= last
    return source if inside else lane


def _kind(operation: Operation) -> str:
    return str(operation.attributes["kind"].value)


def shuffle(warp: Warp, operation: Operation) -> None:
    _, value, offset, clamp = operation.operands
    result, kind, code = operation.results[0], operation.results[0].type, warp.code
    at = warp.analysis.at
    if at(value).uniform:
        warp.set(result, warp.get(value))
        return
    form = _kind(operation)
    if at(offset).constant is not None and at(offset).uniform and at(clamp).constant is not None:
        by, bound = at(offset).constant or 0, at(clamp).constant or 0
        places = [source_lane(form, lane, by, bound, code.width) for lane in range(code.width)]
        if at(result).uniform:
            warp.set(result, Scalar(code.extract(warp.vector(value), places[0], kind)))
        else:
            warp.set(result, Vector(code.shuffle(warp.vector(value), warp.vector(value), places, kind)))
        return
    found = _read_lanes(warp, warp.vector(value), _source_lanes(warp, form, offset, clamp), kind)
    warp.set(result, Scalar(code.extract(found, 0, kind)) if at(result).uniform else Vector(found))


def _source_lanes(warp: Warp, form: str, offset: Value, clamp: Value) -> Value:
    """`source_lane` at run time, in all lanes."""
    code, kind, bits = warp.code, warp.code.wide("i32"), warp.code.width - 1
    lanes = code.constants(range(code.width), "i32")

    def number(n: int) -> Value:
        return code.constants([n] * code.width, "i32")

    def both(left: Value, right: Value) -> Value:
        return code.value("arith.andi", (left, right), kind)

    given = warp.vector(clamp)
    segment = both(code.value("arith.shrui", (given, number(8)), kind), number(bits))
    outside = code.value("arith.xori", (segment, number(-1)), kind)
    first = both(lanes, segment)
    last = code.value("arith.ori", (first, both(both(given, number(bits)), outside)), kind)
    amount = both(warp.vector(offset), number(bits))
    if form == "idx":
        source = code.value("arith.ori", (first, both(amount, outside)), kind)
    else:
        name = {"up": "arith.subi", "down": "arith.addi", "bfly": "arith.xori"}[form]
        source = code.value(name, (lanes, amount), kind)
    inside = code.compare_lanes("sge" if form == "up" else "sle", source, last)
    return code.select(inside, source, lanes, kind)


def _read_lanes(warp: Warp, vector: Value, lanes: Value, kind: Type) -> Value:
    """Each lane reads another lane's element, through memory."""
    code = warp.code
    slot = warp.arrays.scratch(code.wide(kind))
    code.store(vector, slot, min(ALIGNMENT, byte_size(code.wide(kind))))
    wide = code.value("arith.extui", (lanes,), code.wide("i64"))
    mask, warp.mask = warp.mask, None
    found = gather(warp, code.offset(slot, wide, kind), kind, byte_size(kind))
    warp.mask = mask
    return found


def participants(warp: Warp, operation: Operation, members: Value) -> Value | None:
    """The lanes that take part: active ones that the member mask names; None when all do."""
    known = warp.analysis.at(members)
    if not known.uniform:
        raise LoweringError(
            "the member mask of a warp operation differs between lanes",
            span=place_of(operation),
            expected="one mask for all lanes that take part",
        )
    code = warp.code
    every, kind = (1 << code.width) - 1, f"i{code.width}"
    if known.constant is not None and known.constant & every == every:
        return warp.mask
    own = code.resized(warp.scalar(members), kind)
    bits = code.value("vector.broadcast", (own,), f"vector<1x{kind}>")
    named = code.value("vector.bitcast", (bits,), code.wide("i1"))
    return named if warp.mask is None else code.both(warp.mask, named)


def vote(warp: Warp, operation: Operation) -> None:
    members, predicate = operation.operands
    code, form, result = warp.code, _kind(operation), operation.results[0]
    lanes = participants(warp, operation, members)
    held = warp.vector(predicate)
    yes = held if lanes is None else code.both(lanes, held)
    if form == "ballot":
        warp.set(result, Scalar(code.resized(code.bits(yes), result.type)))
        return
    if form == "any":
        warp.set(result, Scalar(code.any(yes)))
        return
    no = code.invert(held) if lanes is None else code.both(lanes, code.invert(held))
    none_fails = code.negated(code.any(no))
    if form == "all":
        warp.set(result, Scalar(none_fails))
        return
    none_holds = code.negated(code.any(yes))
    warp.set(result, Scalar(code.value("arith.ori", (none_fails, none_holds), "i1")))


def reduce(warp: Warp, operation: Operation) -> None:
    value, members = operation.operands
    code, result = warp.code, operation.results[0]
    kind = result.type
    if is_float(kind, 32) and _kind(operation) in _EXTREMES:
        _reduce_floats(warp, operation)
        return
    name, neutral = _REDUCTIONS.get(_kind(operation), ("", ""))
    if not name or not is_integer(kind, 32):
        raise LoweringError(
            f"the CPU target has no warp reduction {_kind(operation)} of {kind}", span=place_of(operation)
        )
    lanes = participants(warp, operation, members)
    vector = warp.vector(value)
    if lanes is not None:
        vector = code.select(
            lanes, vector, code.dense(", ".join([neutral] * code.width), code.wide(kind)), code.wide(kind)
        )
    warp.set(result, Scalar(code.reduce(name, vector, kind)))


def _reduce_floats(warp: Warp, operation: Operation) -> None:
    """The least or greatest number of the lanes: NaN where one is and `nan` says so, or where all are."""
    value, members = operation.operands
    code, result, attributes = warp.code, operation.results[0], operation.attributes
    kind, wide = result.type, code.wide(result.type)
    name, neutral = _EXTREMES[_kind(operation)]
    vector = warp.vector(value)
    if "abs" in attributes:
        vector = code.value("math.absf", (vector,), wide)
    lanes = participants(warp, operation, members)
    bottom = code.dense(", ".join([neutral] * code.width), wide)
    if "nan" in attributes:
        taken = vector if lanes is None else code.select(lanes, vector, bottom, wide)
        warp.set(result, Scalar(code.reduce(name, taken, kind)))
        return
    ordered = {"predicate": code.integer("i64", _ORDERED)}
    numbers = code.value("arith.cmpf", (vector, vector), code.wide("i1"), ordered)
    numbers = numbers if lanes is None else code.both(lanes, numbers)
    found = code.reduce(name, code.select(numbers, vector, bottom, wide), kind)
    none = code.value("arith.constant", (), kind, {"value": code.attribute(f"{_NAN} : f32")})
    warp.set(result, Scalar(code.select(code.any(numbers), found, none, kind)))


def match(warp: Warp, operation: Operation) -> None:
    """For each lane the lanes that hold its value: one comparison for each lane."""
    members, value = operation.operands
    code, result = warp.code, operation.results[0]
    lanes = participants(warp, operation, members)
    vector, kind, mask = warp.vector(value), value.type, result.type
    found = none = code.constants([0] * code.width, mask)
    for lane in range(code.width):
        equal = code.compare_lanes("eq", vector, code.broadcast(code.extract(vector, lane, kind), kind))
        if lanes is not None:
            equal = code.both(equal, code.broadcast(code.extract(lanes, lane, "i1"), "i1"))
        bit = code.constants([1 << lane] * code.width, mask)
        found = code.value("arith.ori", (found, code.select(equal, bit, none, code.wide(mask))), code.wide(mask))
    warp.set(result, Vector(found))


def elect(warp: Warp, operation: Operation) -> None:
    """True in the first active lane."""
    code, result = warp.code, operation.results[0]
    numbers = code.constants(range(code.width), "i32")
    if warp.mask is None:
        first = code.constants([0] * code.width, "i32")
    else:
        first = code.broadcast(code.first(warp.mask), "i32")
    warp.set(result, Vector(code.compare_lanes("eq", numbers, first)))


def no_op(warp: Warp, operation: Operation) -> None:
    """The lanes of a vector are always together."""


def check(warp: Warp, operation: Operation) -> None:
    """A run-time check: it fails if it fails in any active lane, and the first such thread is recorded."""
    code, condition = warp.code, operation.operands[0]
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    if warp.analysis.at(condition).uniform:
        holds = warp.scalar(condition)
        lane = code.constant(0, "i32") if warp.mask is None else code.first(warp.mask)
    elif (inside := all_inside(warp, operation)) is not None:
        made = code.operation("scf.if", (inside,), [code.type("i1"), code.type("i32")], regions=2)
        for side in range(2):
            outer = warp.region(code.append_block(made, side), (), warp.mask)
            found = (code.constant(1, "i1"), code.constant(0, "i32")) if side == 0 else _failing(warp, condition)
            code.operation("scf.yield", found)
            warp.leave(outer)
        holds, lane = made.results
    else:
        holds, lane = _failing(warp, condition)
    require(warp, holds, lane, attributes)


def _failing(warp: Warp, condition: Value) -> tuple[Value, Value]:
    """Whether a condition holds in all active lanes, and the first in which it does not."""
    code = warp.code
    failing = code.invert(warp.vector(condition))
    failing = failing if warp.mask is None else code.both(warp.mask, failing)
    return code.negated(code.any(failing)), code.first(failing)


def require(warp: Warp, holds: Value, lane: Value, attributes: dict[str, Attribute]) -> None:
    """Fail unless a condition of the warp holds; `lane` (i32) is to blame."""
    code = warp.code
    made = code.operation("scf.if", (holds,), regions=2)
    for side in range(2):
        before = code.enter(code.append_block(made, side))
        if side == 1:
            thread = lane if warp.of_block else code.value("arith.addi", (warp.first_thread(), lane), "i32")
            warp.arrays.fault(warp, thread)
        code.operation("scf.yield")
        code.leave(before)
    code.operation("cf.assert", (holds,), attributes=attributes)


def require_of(
    error: type[CompiledCodeError],
    warp: Warp,
    operation: Operation,
    holds: Value,
    lane: Value,
    title: str,
    **facts: object,
) -> None:
    """The same with an error at the operation's line."""
    require(warp, holds, lane, warp.code.check_attributes(error, title, span=place_of(operation), **facts))


def say(warp: Warp, operation: Operation) -> None:
    """Every active thread prints, in order."""
    operands: Sequence[Value] = list(operation.operands)
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    kinds = [operand.type for operand in operands]
    for operand in operands:
        if not warp.analysis.at(operand).uniform:
            warp.vector(operand)  # made before the loop

    def once(lane: Value) -> None:
        values = [warp.lane(operand, lane, kind) for operand, kind in zip(operands, kinds, strict=True)]
        warp.code.operation("gpu.printf", values, attributes=attributes)

    each_active(warp, once)


def clock(warp: Warp, operation: Operation) -> None:
    """The processor's own counter."""
    code, result = warp.code, operation.results[0]
    now = code.intrinsic("llvm.readcyclecounter", (), ["i64"]).result
    kind = result.type
    warp.set(result, Scalar(now if is_integer(kind, 64) else code.value("arith.trunci", (now,), kind)))


def nanoseconds(warp: Warp, operation: Operation) -> None:
    """The clock of the C library: seconds and nanoseconds."""
    code = warp.code
    time = warp.arrays.scratch(code.type("!llvm.array<2 x i64>"))
    monotonic = code.constant(system().monotonic_clock, "i32")
    code.value("func.call", (monotonic, time), "i32", {"callee": code.attribute(f"@{CLOCK}")})
    seconds, rest = (code.load(code.offset(time, i, "i64"), "i64", 8) for i in range(2))
    scaled = code.value("arith.muli", (seconds, code.constant(10**9, "i64")), "i64")
    warp.set(operation.results[0], Scalar(code.value("arith.addi", (scaled, rest), "i64")))


def barrier(warp: Warp, operation: Operation) -> None:
    """Only in warps that wait; elsewhere barriers have become cuts."""
    warp.arrays.barrier(warp, operation)


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    simt.SHUFFLE: shuffle,
    simt.VOTE: vote,
    simt.REDUCE: reduce,
    simt.MATCH: match,
    simt.ELECT: elect,
    simt.SYNC_WARP: no_op,
    simt.SLEEP: no_op,
    simt.AWAIT_PREVIOUS_GRID: no_op,  # it has ended
    simt.LAUNCH_DEPENDENTS: no_op,
    simt.SET_REGISTERS: no_op,  # a CPU shares none between threads
    "gpu.barrier": barrier,
    simt.BARRIER: barrier,
    simt.BARRIER_ARRIVE: barrier,
    "cf.assert": check,
    "gpu.printf": say,
    simt.CLOCK: clock,
    simt.GLOBAL_TIMER: nanoseconds,
}

# Warp convergence: instructions that all threads of a warp execute together; a missing lane is an error there.


def require_whole_warp(warp: Warp, operation: Operation, threads: int = WARP_THREADS) -> None:
    """Lanes that are missing have no part in the result of the others: on a GPU it is undefined."""
    code = warp.code
    if code.width != threads:
        raise LoweringError(
            f"an instruction of {threads} threads on a machine whose warps have {code.width} lanes",
            span=place_of(operation),
            found=operation.name.partition(".")[2],
            expected="an instruction that the machine has",
        )
    if warp.mask is None:
        return
    every = code.compare("eq", code.bits(warp.mask), code.constant(-1, f"i{code.width}"))
    attributes = code.check_attributes(
        PartialWarpError,
        "only some threads of a warp execute an instruction of the whole warp",
        span=place_of(operation),
        found=operation.name.partition(".")[2],
        expected=f"all {threads} threads to come here together",
        instead="the instruction outside the branch, or a condition that is the same for a whole warp",
    )
    missing = code.first(code.invert(warp.mask))
    require(warp, every, missing, attributes)
