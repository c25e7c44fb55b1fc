"""Pass `lower-simt`: what threads do together becomes intrinsics of AMD's waves.

Input: kernels whose warps are the chip's waves, or the halves of waves of 64, checked by `check-chip`. Output: the same
kernels without operations of `simt`. Lanes that do not come to an operation are not asked: ballots have no bits of
them, and votes that ask whether all agree look for one that does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import is_float
from triptych.kernel_ir.dialects.kernel_attributes import device_of
from triptych.kernel_ir.dialects.kernel_operations import constant_of
from triptych.targets.amdgpu.description import instructions as isa
from triptych.targets.amdgpu.description.chips import Chip
from triptych.targets.amdgpu.passes.lane_moves import cheapest
from triptych.targets.amdgpu.passes.wave_code import ACQUIRE_RELEASE, WAVE, WaveCode

_NANOSECONDS_OF_TICK = 10
"""The steady clock has 100 MHz."""
_SLEEP_NANOSECONDS, _LONGEST_SLEEP = 32, 127
"""What `s_sleep` counts in, 64 cycles, takes at least 30 ns on all chips; a sleep may be shorter than it is told."""
_ARITHMETIC = {
    "add": "arith.addi",
    "and": "arith.andi",
    "max": "arith.maxsi",
    "min": "arith.minsi",
    "or": "arith.ori",
    "umax": "arith.maxui",
    "umin": "arith.minui",
    "xor": "arith.xori",
}
_IDENTITIES = {"and": -1, "umin": -1, "min": (1 << 31) - 1, "max": -(1 << 31)}
"""What changes nothing; 0 where nothing stands here."""
_FLOATS = {"fmin": ("arith.minnumf", "arith.minimumf"), "fmax": ("arith.maxnumf", "arith.maximumf")}
"""Without and with NaN in the result."""
_NAN, _INFINITY, _SIGN = 0x7FC00000, 0x7F800000, 1 << 31


def lowering(chip: Chip) -> Callable[[Module], None]:
    """The pass for one chip."""

    def lower_simt(module: Module) -> None:
        for kernel in kernels(module):
            lanes = device_of(kernel).lanes
            for name, rule in RULES.items():
                replace_each(operations_named(kernel, name), partial(_applied, rule, chip, lanes))

    return lower_simt


def _applied(rule: _Rule, chip: Chip, lanes: int, op: Replacement) -> list[Value]:
    return rule(op, WaveCode(op.builder, chip, lanes))


_Rule = Callable[[Replacement, WaveCode], list[Value]]


def _nothing(op: Replacement, code: WaveCode) -> list[Value]:
    """A prefetch changes no result."""
    del op, code
    return []


def _lane(op: Replacement, code: WaveCode) -> list[Value]:
    return [op.value("arith.index_castui", (code.lane(),), op.operation.results[0].type)]


def _sync_warp(op: Replacement, code: WaveCode) -> list[Value]:
    """A wave goes in step, so it is enough that nothing is moved across, and that memory is in order."""
    order = {"ordering": op.builder.integer("i64", ACQUIRE_RELEASE), "syncscope": op.builder.string(WAVE)}
    op.effect("llvm.fence", (), order)
    code.effect(isa.WAVE_BARRIER)
    op.effect("llvm.fence", (), order)
    return []


def _barrier(op: Replacement, code: WaveCode) -> list[Value]:
    """`check-chip` has seen that it is one of the whole block."""
    del code
    op.effect("gpu.barrier", ())
    return []


def _elect(op: Replacement, code: WaveCode) -> list[Value]:
    del op
    return [code.first_active()]


def _shuffle(op: Replacement, code: WaveCode) -> list[Value]:
    _, value, offset, clamp = op.operands
    kind = op.operation.attributes["kind"].value
    distance, bounds = constant_of(offset), constant_of(clamp)
    if distance is not None and bounds is not None:
        move = cheapest(kind, distance, bounds, code.chip, code.lanes)
        if move is not None:
            return [code.moved(value, move)]
    source = _source(op, code, kind, offset, clamp)
    return [code.of_lane(value, source)]


def _source(op: Replacement, code: WaveCode, kind: str, offset: Value, clamp: Value) -> Value:
    """The lane that is read; the own one where that would be beyond the bounds."""
    build = op.builder
    everything = code.number(code.lanes - 1)
    lane = code.lane()
    segments = build.value(
        "arith.andi", (build.value("arith.shrui", (clamp, code.number(8)), "i32"), everything), "i32"
    )
    inside = build.value("arith.xori", (segments, everything), "i32")
    least = build.value("arith.andi", (lane, segments), "i32")
    bound = build.value("arith.andi", (clamp, inside), "i32")
    most = build.value("arith.ori", (least, bound), "i32")
    distance = build.value("arith.andi", (offset, everything), "i32")
    if kind == "idx":
        found = build.value("arith.ori", (least, build.value("arith.andi", (distance, inside), "i32")), "i32")
    else:
        name = {"up": "arith.subi", "down": "arith.addi", "bfly": "arith.xori"}[kind]
        found = build.value(name, (lane, distance), "i32")
    if _stays_inside(kind, constant_of(offset), constant_of(clamp), code.lanes):
        return found
    is_there = build.compare("sge" if kind == "up" else "sle", found, most)
    return build.select(is_there, found, lane, "i32")


def _stays_inside(kind: str, distance: int | None, bounds: int | None, lanes: int) -> bool:
    """Whether no lane can be beyond the bounds."""
    everything = lanes - 1
    if bounds is None or bounds & everything != everything:
        return False
    segments = bounds >> 8 & everything
    crosses = segments if distance is None else distance & segments
    return kind == "idx" or (kind == "bfly" and not crosses)


def _members(op: Replacement, code: WaveCode, operand: Value) -> Value | None:
    """The mask of the lanes that are asked; None for all."""
    if constant_of(operand) in (-1, (1 << code.lanes) - 1):
        return None
    return op.builder.resized(operand, code.mask_type)


def _vote(op: Replacement, code: WaveCode) -> list[Value]:
    members, condition = op.operands
    kind, build = op.operation.attributes["kind"].value, op.builder
    asked = _members(op, code, members)

    def lanes_with(value: Value) -> Value:
        found = code.ballot(value)
        return found if asked is None else build.value("arith.andi", (found, asked), code.mask_type)

    def no_lane_with(value: Value) -> Value:
        return build.compare("eq", lanes_with(value), code.number(0, code.mask_type))

    if kind == "ballot":
        return [build.resized(lanes_with(condition), op.operation.results[0].type)]
    if kind == "any":
        return [build.compare("ne", lanes_with(condition), code.number(0, code.mask_type))]
    denied = build.value("arith.xori", (condition, code.truth(holds=True)), "i1")
    agreed = no_lane_with(denied)
    if kind == "all":
        return [agreed]
    return [build.value("arith.ori", (agreed, no_lane_with(condition)), "i1")]


def _match(op: Replacement, code: WaveCode) -> list[Value]:
    """In each turn, those leave that have what the first of the others has."""
    members, value = op.operands
    build = op.builder
    loop = op.builder.operation("scf.while", (), [code.mask_type], regions=2)
    before = build.enter(build.append_block(loop, 0))
    alike = build.compare("eq", value, code.first_of(value))
    found = code.ballot(alike)
    others = build.value("arith.xori", (alike, code.truth(holds=True)), "i1")
    build.operation("scf.condition", (others, found))
    build.leave(before)
    before = build.enter(build.append_block(loop, 1, [code.mask_type]))
    build.operation("scf.yield")
    build.leave(before)
    asked = _members(op, code, members)
    result = loop.results[0]
    if asked is not None:
        result = build.value("arith.andi", (result, asked), code.mask_type)
    return [build.resized(result, op.operation.results[0].type)]


def _reduce(op: Replacement, code: WaveCode) -> list[Value]:
    value, members = op.operands
    asked = _members(op, code, members)
    if asked is None or constant_of(members) is not None:
        return [_reduced(op, code, value)]
    return [_reduced_by_groups(op, code, value, asked)]


def _reduced_by_groups(op: Replacement, code: WaveCode, value: Value, asked: Value) -> Value:
    """Lanes that name the same members leave in one turn, with the result of that turn.

    All lanes that are left compute it, the others with a value that changes nothing. A branch around it would be no
    help: LLVM moves what only leaving lanes need behind the loop, where all come together. So each lane reads the
    result from itself, by an instruction that LLVM leaves where it is.
    """
    build = op.builder
    loop = build.operation("scf.while", (), [value.type], regions=2)
    before = build.enter(build.append_block(loop, 0))
    turn = build.compare("eq", asked, code.first_of(asked))
    found = code.stays_here(_reduced(op, code, value, turn))
    others = build.value("arith.xori", (turn, code.truth(holds=True)), "i1")
    build.operation("scf.condition", (others, found))
    build.enter(build.append_block(loop, 1, [value.type]))
    build.operation("scf.yield")
    build.leave(before)
    return loop.results[0]


def _reduced(op: Replacement, code: WaveCode, value: Value, of: Value | None = None) -> Value:
    """The lanes that come here, or those of them for which a condition holds, combined."""
    kind, build = op.operation.attributes["kind"].value, op.builder
    is_number = is_float(value.type)
    with_nan = _says(op.operation, "nan")
    if is_number and _says(op.operation, "abs"):
        value = build.value("math.absf", (value,), "f32")
    identity = code.number(_float_identity(kind, with_nan) if is_number else _IDENTITIES.get(kind, 0))
    bits = build.value("arith.bitcast", (value,), "i32") if is_number else value
    given = bits if of is None else build.select(of, bits, identity, "i32")

    def combine(a: Value, b: Value) -> Value:
        if not is_number:
            return build.value(_ARITHMETIC[kind], (a, b), "i32")
        numbers = [build.value("arith.bitcast", (each,), "f32") for each in (a, b)]
        return build.value("arith.bitcast", (build.value(_FLOATS[kind][with_nan], numbers, "f32"),), "i32")

    total = code.reduced(given, identity, combine)
    return build.value("arith.bitcast", (total,), "f32") if is_number else total


def _float_identity(kind: str, with_nan: bool) -> int:
    """A number that any other replaces; where NaN wins over numbers, the one that loses to all of them."""
    if not with_nan:
        return _NAN
    return _INFINITY if kind == "fmin" else _INFINITY - _SIGN


def _says(operation: Operation, attribute: str) -> bool:
    """Whether a flag is there: as a unit, or as a truth."""
    return attribute in operation.attributes and str(operation.attributes[attribute]) != "false"


def _sleep(op: Replacement, code: WaveCode) -> list[Value]:
    asked = constant_of(op.operands[0])
    units = 1 if asked is None else min(max(asked // _SLEEP_NANOSECONDS, 1), _LONGEST_SLEEP)
    code.effect(isa.SLEEP, (code.number(units),))
    return []


def _clock(op: Replacement, code: WaveCode) -> list[Value]:
    return [op.builder.resized(code.call(isa.CYCLES, (), "i64"), op.operation.results[0].type)]


def _timer(op: Replacement, code: WaveCode) -> list[Value]:
    ticks = code.call(isa.STEADY, (), "i64")
    return [op.value("arith.muli", (ticks, code.number(_NANOSECONDS_OF_TICK, "i64")), "i64")]


_BY_WORD: Mapping[str, _Rule] = {
    "lane_id": _lane,
    "sync_warp": _sync_warp,
    "barrier": _barrier,
    "elect": _elect,
    "shuffle": _shuffle,
    "vote": _vote,
    "match": _match,
    "reduce": _reduce,
    "prefetch": _nothing,
    "sleep": _sleep,
    "clock": _clock,
    "global_timer": _timer,
}
_OTHERS = frozenset({"gpu.barrier"})
"""Upstream lowers it; that of `simt` becomes one."""
RULES: Mapping[str, _Rule] = {
    row.operation: _BY_WORD[word]
    for row in isa.ROWS
    if (word := row.operation.partition(".")[2]) in _BY_WORD and row.operation not in _OTHERS
}
"""In this order; no rule makes what an earlier one replaces."""
