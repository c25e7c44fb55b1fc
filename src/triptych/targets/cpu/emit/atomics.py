"""Atomic operations of a warp, and whatever else its active lanes do one after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from triptych.ir.handles import Operation, Type, Value
from triptych.ir.types import SHARED_SPACE, bit_width, byte_size, is_float, is_struct, memory_space
from triptych.kernel_ir.analysis.spin_loops import spins
from triptych.kernel_ir.dialects.kernel_operations import enclosing
from triptych.targets.cpu.abi.abi import ALIGNMENT
from triptych.targets.cpu.emit.barrier_state import PROGRESS, when
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.serialized_lanes import each_active
from triptych.targets.cpu.emit.values import Scalar, StructOfArrays, Vector, plain_pointer
from triptych.targets.cpu.emit.warp import Warp

_PLAIN = {
    "add": "arith.addi",
    "sub": "arith.subi",
    "_and": "arith.andi",
    "_or": "arith.ori",
    "_xor": "arith.xori",
    "max": "arith.maxsi",
    "min": "arith.minsi",
    "umax": "arith.maxui",
    "umin": "arith.minui",
    "fadd": "arith.addf",
    "fmax": "arith.maxnumf",
    "fmin": "arith.minnumf",
}
"""Read-modify-write operations as ordinary ones."""
_ORDER = (
    "xchg",
    "add",
    "sub",
    "_and",
    "_nand",
    "_or",
    "_xor",
    "max",
    "min",
    "umax",
    "umin",
    "fadd",
    "fsub",
    "fmax",
    "fmin",
)
_REDUCED = {
    "add": ("add", "0"),
    "_and": ("and", "-1"),
    "_or": ("or", "0"),
    "_xor": ("xor", "0"),
}
"""Operations of all lanes on one place that may be done once: the reduction and its neutral number."""


def _form(operation: Operation) -> str:
    """The name of a read-modify-write operation."""
    return dict(enumerate(_ORDER)).get(int(operation.attributes["bin_op"].value), "")


def exchange(warp: Warp, operation: Operation) -> None:
    """`llvm.atomicrmw`. A block runs on one thread, so its own memory needs no lock."""
    pointer, value = operation.operands
    form = _form(operation)
    used = bool(list(operation.results[0].uses))
    if form in _REDUCED and not used and warp.analysis.at(pointer).uniform:
        _exchange_once(warp, operation, *_REDUCED[form])
    elif memory_space(pointer.type) == SHARED_SPACE and form in _PLAIN:
        _in_turn(warp, operation, lambda address, given: _plainly(warp, _PLAIN[form], address, given, value.type))
    else:
        atomic(warp, operation)


def _exchange_once(warp: Warp, operation: Operation, reduction: str, neutral: str) -> None:
    pointer, value = operation.operands
    code, kind = warp.code, value.type
    vector = warp.vector(value)
    if warp.mask is not None:
        none = code.dense(", ".join([neutral] * code.width), code.wide(kind))
        vector = code.select(warp.mask, vector, none, code.wide(kind))
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    given = code.reduce(reduction, vector, kind)
    before = code.value(operation.name, (warp.scalar(pointer), given), kind, attributes)
    _note_change(warp, operation, before, given)


def _plainly(warp: Warp, name: str, address: Value, given: Value, kind: Type) -> Value:
    """Read, compute, write; what was there."""
    code = warp.code
    before = code.load(address, kind, byte_size(kind))
    code.store(code.value(name, (before, given), kind), address, byte_size(kind))
    return before


def atomic(warp: Warp, operation: Operation) -> None:
    """Lane after lane, in order, as the atomic operation itself."""
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    kind = operation.results[0].type
    _in_turn(warp, operation, lambda *values: warp.code.value(operation.name, values, kind, attributes))


def _in_turn(warp: Warp, operation: Operation, act: Callable[..., Value]) -> None:
    """`act` on the operands of each active lane. What each lane gets back is collected through memory."""
    code = warp.code
    operands = list(operation.operands)
    kinds = [plain_pointer(operand.type) for operand in operands]
    result = operation.results[0]
    used = bool(list(result.uses))
    struct = is_struct(result.type)
    element = kinds[1]
    places = [code.wide(element), code.wide("i8")] if struct else [code.wide(element)]
    slots = [warp.arrays.scratch(place) for place in places] if used else []
    vectors = {o: warp.vector(o) for o in operands if not _same_everywhere(warp, o)}

    def once(lane: Value) -> None:
        values = [
            code.extract_at(vectors[o], lane, k) if o in vectors else warp.scalar(o)
            for o, k in zip(operands, kinds, strict=True)
        ]
        made = act(*values)
        _note_change(warp, operation, made, *values[1:])
        if not used:
            return
        parts = _struct_parts(warp, made, element) if struct else [made]
        for slot, part, part_kind in zip(slots, parts, [element, code.type("i8")], strict=False):
            code.store(part, code.offset(slot, code.value("arith.index_cast", (lane,), "i64"), part_kind), 1)

    each_active(warp, once)
    if used:
        loaded = [code.load(h, place, min(ALIGNMENT, byte_size(place))) for h, place in zip(slots, places, strict=True)]
        if struct:
            loaded[1] = code.compare_lanes("ne", loaded[1], code.zero(code.wide("i8")))
            warp.set(result, StructOfArrays(loaded))
        else:
            warp.set(result, Vector(loaded[0]))


def _note_change(warp: Warp, operation: Operation, before: Value, *given: Value) -> None:
    """In a loop that waits for memory: who changes memory gets on, and may get others on."""
    state, code = warp.arrays.state, warp.code
    if state is None or not _is_awaiting(operation):
        return
    if operation.name == "llvm.cmpxchg":
        done = code.value("llvm.extractvalue", (before,), "i1", {"position": code.attribute("array<i64: 1>")})
        when(code, code.both(done, _differ(code, *given), "i1"), partial(state.add, PROGRESS, 1))
        return
    form, changes = _form(operation), code.constant(1, "i1")
    if form == "xchg":
        changes = _differ(code, before, *given)
    elif form in _PLAIN:
        changes = _differ(code, before, code.value(_PLAIN[form], (before, *given), given[0].type))
    when(code, changes, partial(state.add, PROGRESS, 1))


def _differ(code: LaneBuilder, left: Value, right: Value) -> Value:
    if is_float(left.type):
        number = f"i{bit_width(left.type)}"
        left, right = (code.value("arith.bitcast", (value,), number) for value in (left, right))
    return code.compare("ne", left, right)


def _is_awaiting(operation: Operation) -> bool:
    around = enclosing(operation)
    while around.name != "gpu.func":
        if spins(around):
            return True
        around = enclosing(around)
    return False


def _struct_parts(warp: Warp, made: Value, element: Type) -> list[Value]:
    code = warp.code
    old = code.value("llvm.extractvalue", (made,), element, {"position": code.attribute("array<i64: 0>")})
    done = code.value("llvm.extractvalue", (made,), "i1", {"position": code.attribute("array<i64: 1>")})
    return [old, code.value("arith.extui", (done,), "i8")]


def part_of_struct(warp: Warp, operation: Operation) -> None:
    """`llvm.extractvalue` of what a compare-and-swap returned."""
    found = warp.get(operation.operands[0])
    assert isinstance(found, StructOfArrays), "a compare-and-swap gives one row for each part"
    warp.set(operation.results[0], Vector(found.rows[next(iter(operation.attributes["position"]))]))


def _same_everywhere(warp: Warp, value: Value) -> bool:
    return warp.analysis.at(value).uniform and isinstance(warp.get(value), Scalar)


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {
    "llvm.atomicrmw": exchange,
    "llvm.cmpxchg": atomic,
    "llvm.extractvalue": part_of_struct,
}
