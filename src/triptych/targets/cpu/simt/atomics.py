"""Atomic operations of a warp, and whatever else its active lanes do one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from triptych.simt.operations import element_size
from triptych.targets.cpu.simt.values import Rows, Scalar, Wide, plain_pointer

if TYPE_CHECKING:
    from triptych.targets.cpu.simt.warp import Warp


def atomic(warp: Warp, operation: Any) -> None:
    """Lane after lane, in order. What each lane gets back is collected through memory."""
    code = warp.code
    operands = list(operation.operands)
    kinds = [plain_pointer(str(operand.type)) for operand in operands]
    result = operation.results[0]
    used = bool(list(result.uses))
    kind = str(result.type)
    struct = kind.startswith("!llvm.struct")
    element = kinds[1]
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    places = [code.wide(element), code.wide("i8")] if struct else [code.wide(element)]
    homes = [warp.arrays.scratch(place) for place in places] if used else []
    vectors = {o: warp.vector(o) for o in operands if not _same_everywhere(warp, o)}

    def once(lane: Any) -> None:
        values = [
            code.extract_at(vectors[o], lane, k) if o in vectors else warp.scalar(o)
            for o, k in zip(operands, kinds, strict=True)
        ]
        made = code.value(operation.name, values, kind, attributes)
        if not used:
            return
        parts = _struct_parts(warp, made, element) if struct else [made]
        for home, part, part_kind in zip(homes, parts, [element, "i8"], strict=False):
            code.store(part, code.offset(home, code.value("arith.index_cast", (lane,), "i64"), part_kind), 1)

    each_active(warp, once)
    if used:
        loaded = [code.load(h, place, element_size(place)) for h, place in zip(homes, places, strict=True)]
        if struct:
            loaded[1] = code.compare("ne", loaded[1], code.zero(code.wide("i8")), lanes=True)
            warp.set(result, Rows(loaded))
        else:
            warp.set(result, Wide(loaded[0]))


def _struct_parts(warp: Warp, made: Any, element: str) -> list[Any]:
    code = warp.code
    old = code.value("llvm.extractvalue", (made,), element, {"position": code.attribute("array<i64: 0>")})
    done = code.value("llvm.extractvalue", (made,), "i1", {"position": code.attribute("array<i64: 1>")})
    return [old, code.value("arith.extui", (done,), "i8")]


def part_of_struct(warp: Warp, operation: Any) -> None:
    """`llvm.extractvalue` of what a compare-and-swap returned."""
    found = warp.get(operation.operands[0])
    assert isinstance(found, Rows)
    warp.set(operation.results[0], Wide(found.rows[next(iter(operation.attributes["position"]))]))


def _same_everywhere(warp: Warp, value: Any) -> bool:
    return warp.analysis.at(value).uniform and isinstance(warp.get(value), Scalar)


def each_active(warp: Warp, act: Callable[[Any], None]) -> None:
    """A loop over the active lanes, in order."""
    code = warp.code
    low, high, one = code.constant(0, "index"), code.constant(code.width, "index"), code.constant(1, "index")
    made = code.operation("scf.for", (low, high, one), regions=1)
    inside = code.block(made, 0, ["index"])
    before = code.enter(inside)
    lane = inside.arguments[0]
    if warp.mask is None:
        act(lane)
    else:
        chosen = code.operation("scf.if", (code.extract_at(warp.mask, lane, "i1"),), regions=2)
        outside = code.enter(code.block(chosen, 0))
        act(lane)
        code.operation("scf.yield")
        code.leave(outside)
    code.operation("scf.yield")
    code.leave(before)


HANDLERS: dict[str, Callable[[Any, Any], None]] = {
    "llvm.atomicrmw": atomic,
    "llvm.cmpxchg": atomic,
    "llvm.extractvalue": part_of_struct,
}
