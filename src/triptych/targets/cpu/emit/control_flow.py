"""Control flow of a warp: branches under masks, and loops that run until no lane is active."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triptych.ir.handles import Operation, Type, Value
from triptych.ir.types import byte_size, count_and_element, int_width
from triptych.kernel_ir.analysis.addresses import steps
from triptych.kernel_ir.dialects.kernel_operations import (
    array_size,
    body,
    contains,
    has_body,
    inner,
    is_ordered,
    is_pure,
    operations,
    producer,
)
from triptych.targets.cpu.emit.strip_mining import STRIP_LENGTH, Strips
from triptych.targets.cpu.emit.values import Scalar, StackSlot, Vector
from triptych.targets.cpu.emit.warp import Warp

# Branches of a warp: uniform ones as they are, divergent ones as both sides under masks.
#
# A side that no lane takes is skipped when it does more than compute, or than change elements of its thread's own
# arrays: these are vectors of lanes, in which the others' elements are kept, so that code without a branch is shorter.

DIVISIONS = frozenset(
    {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi", "arith.ceildivsi"}
)
_ACCESSES = {"llvm.load": 0, "llvm.store": 1}
"""Which operand of an access is its address."""
_CHEAP = 12
"""Operations of a side that is computed rather than skipped."""


def _if(warp: Warp, operation: Operation) -> None:
    condition = operation.operands[0]
    if warp.analysis.at(condition).uniform:
        _uniform_if(warp, operation, warp.scalar(condition))
    else:
        _divergent_if(warp, operation, warp.vector(condition))


def _uniform_if(warp: Warp, operation: Operation, condition: Value) -> None:
    results = list(operation.results)
    known = warp.known(results)
    made = warp.code.operation("scf.if", (condition,), warp.part_types(results, known), regions=2)
    for side in range(2):
        if not has_body(operation, side):
            continue
        *found, end = operations(body(operation, side))
        outer = warp.region(warp.code.append_block(made, side), found, warp.mask)
        warp.code.operation("scf.yield", warp.parts(end.operands, known))
        warp.leave(outer)
    warp.bind(results, list(made.results), known)


def _divergent_if(warp: Warp, operation: Operation, condition: Value) -> None:
    results = list(operation.results)
    taken = condition if warp.mask is None else warp.code.both(warp.mask, condition)
    outcomes = [_side(warp, operation, 0, taken, results)]
    if has_body(operation, 1):
        inverse = warp.code.invert(condition)
        other = inverse if warp.mask is None else warp.code.both(warp.mask, inverse)
        outcomes.append(_side(warp, operation, 1, other, results))
    at = 0
    for result in results:
        count = len(warp.form_types(result, False))
        kind = warp.form_types(result, False)[0]
        met = [warp.code.select(condition, outcomes[0][i], outcomes[1][i], kind) for i in range(at, at + count)]
        warp.set(result, warp.rebuild(result, False, met))
        at += count


def _side(warp: Warp, operation: Operation, side: int, mask: Value, results: Sequence[Value]) -> list[Value]:
    """One side under its mask; what it yields, as vectors."""
    *found, end = operations(body(operation, side))
    as_vectors = [False] * len(results)
    kinds = warp.part_types(results, as_vectors)
    if _may_run_for_nothing(warp, found):
        before, warp.mask = warp.mask, mask
        warp.open_region()
        warp.run(found)
        parts = warp.parts(end.operands, as_vectors)
        warp.close_region()
        warp.mask = before
        return parts
    made = warp.code.operation("scf.if", (warp.code.any(mask),), kinds, regions=2)
    outer = warp.region(warp.code.append_block(made, 0), found, mask)
    warp.code.operation("scf.yield", warp.parts(end.operands, as_vectors))
    warp.leave(outer)
    if kinds:
        outer = warp.region(warp.code.append_block(made, 1), (), mask)
        warp.code.operation("scf.yield", [warp.code.zero(kind) for kind in kinds])
        warp.leave(outer)
    return list(made.results)


def _may_run_for_nothing(warp: Warp, found: Sequence[Operation]) -> bool:
    """Whether a side is a few operations that others do not see, and that never fail."""
    return len(found) <= _CHEAP and all(_only_computes(o) or _stays_in_registers(warp, o) for o in found)


def _only_computes(operation: Operation) -> bool:
    return is_pure(operation) and not inner(operation) and operation.name not in DIVISIONS


def _stays_in_registers(warp: Warp, operation: Operation) -> bool:
    """Whether it reads or writes one element, known now, of an array of the thread that is kept element by element."""
    if operation.name not in _ACCESSES or is_ordered(operation):
        return False
    number = operation.results[0] if operation.name == "llvm.load" else operation.operands[0]
    array, taken = steps(operation.operands[_ACCESSES[operation.name]])
    if not isinstance(warp.values.get(array), StackSlot) or count_and_element(number.type) is not None:
        return False
    places = [step.index * step.size for step in taken if isinstance(step.index, int)]
    end = array_size(producer(array)) - byte_size(number.type)
    return len(places) == len(taken) and 0 <= sum(places) <= end


# Loops of a warp: lanes step together, and a loop runs until no lane is active.

_LOOPS = frozenset({"scf.for", "scf.while"})
_MOST_WRITTEN_TWICE = 80
"""Operations of a loop whose last iterations are written apart."""


def _for(warp: Warp, operation: Operation) -> None:
    bounds, initial = list(operation.operands)[:3], list(operation.operands)[3:]
    if not all(warp.analysis.at(bound).uniform for bound in bounds):
        _divergent_for(warp, operation, bounds, initial)
        return
    carried = list(body(operation).arguments)[1:]
    known = warp.known(carried)
    parts, kinds = warp.parts(initial, known), warp.part_types(carried, known)
    results = _plain(warp, operation, [warp.scalar(bound) for bound in bounds], parts, kinds)
    warp.bind(list(operation.results), results, known)


def _plain(
    warp: Warp, operation: Operation, limits: Sequence[Value], parts: Sequence[Value], kinds: Sequence[Type]
) -> list[Value]:
    """A loop that all lanes run alike, from `parts` to what it makes of them.

    One part more than the loop carries is the counter after the last iteration.
    """
    if _is_long(warp, operation) and not any(contains(child, _LOOPS) for child in inner(operation)):
        return _strip_mined(warp, operation, limits, parts, kinds)
    return _counted(warp, operation, limits, parts, kinds)


def _is_long(warp: Warp, operation: Operation) -> bool:
    """Whether a loop may run for so long that a user would want to interrupt it."""
    low, high, step = (warp.analysis.at(bound).constant for bound in list(operation.operands)[:3])
    return low is None or high is None or not step or (high - low) // step > STRIP_LENGTH


def _counted(
    warp: Warp, operation: Operation, limits: Sequence[Value], parts: Sequence[Value], kinds: Sequence[Type]
) -> list[Value]:
    """The loop itself, from `parts` to its results."""
    counter, *carried = body(operation).arguments
    known = warp.known(carried)
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    made = warp.code.operation("scf.for", [*limits, *parts], kinds, attributes, regions=1)
    inside = warp.code.append_block(made, 0, [counter.type, *kinds])
    arguments = list(inside.arguments)
    warp.set(counter, Scalar(arguments[0]))
    count = len(warp.part_types(carried, known))
    warp.bind(carried, arguments[1 : 1 + count], known)
    *found, end = operations(body(operation))
    outer = warp.region(inside, found, warp.mask)
    if _is_long(warp, operation) and any(contains(child, _LOOPS) for child in found):
        warp.arrays.poll(warp, operation)
    following = [_advance(warp, arguments[0], True, operation.operands[2], counter.type)] * (len(kinds) - count)
    warp.code.operation("scf.yield", [*warp.parts(end.operands, known), *following])
    warp.leave(outer)
    return list(made.results)


def _strip_mined(
    warp: Warp, operation: Operation, limits: Sequence[Value], parts: Sequence[Value], kinds: Sequence[Type]
) -> list[Value]:
    """A loop of loops, with a look at interrupts between two strips, so that the inner one stays as it is."""
    low, high, step = limits
    code, strips = warp.code, Strips(warp.code, low, high, step)
    zero, one = (code.constant(n, "i64") for n in (0, 1))
    made = code.operation("scf.for", [zero, strips.count, one, *parts], kinds, regions=1)
    inside = code.append_block(made, 0, ["i64", *kinds])
    number, *carried = inside.arguments
    outer = warp.region(inside, (), warp.mask)
    strip = [*strips.bounds(number), step]
    results = _counted(warp, operation, strip, carried, kinds)
    warp.arrays.poll(warp, operation)
    code.operation("scf.yield", results)
    warp.leave(outer)
    return list(made.results)


def _divergent_for(warp: Warp, operation: Operation, bounds: Sequence[Value], initial: Sequence[Value]) -> None:
    """Lanes start or stop at different counts: step together, each while it is inside its bounds."""
    code, (low, high, step) = warp.code, bounds
    counter, *carried = body(operation).arguments
    kind = counter.type
    simple = warp.analysis.at(counter).known
    results = list(operation.results)
    known, as_vectors = warp.known(carried), [False] * len(results)
    ((start_kind, start),) = warp.forms(low, simple)
    parts, ends = warp.parts(initial, known), warp.parts(initial, as_vectors)
    kinds, result_kinds = [start_kind, *warp.part_types(carried, known)], warp.part_types(results, as_vectors)
    if _starts_together(warp, operation, bounds):
        *parts, start = _together(warp, operation, bounds, parts, kinds[1:])
        warp.bind(carried, parts, known)
        ends = warp.parts(carried, as_vectors)
    inside = _inside(warp, low, start, simple, high)
    active = inside if warp.mask is None else code.both(warp.mask, inside)
    every = [*kinds, code.wide("i1"), *result_kinds]
    made = code.operation("scf.while", [start, *parts, active, *ends], every, regions=2)
    head = code.append_block(made, 0, every)
    before = code.enter(head)
    arguments = list(head.arguments)
    code.operation("scf.condition", [code.any(arguments[len(kinds)]), *arguments])
    code.leave(before)
    inner_block = code.append_block(made, 1, every)
    arguments = list(inner_block.arguments)
    warp.set(counter, Scalar(arguments[0]) if simple else Vector(arguments[0]))
    warp.bind(carried, arguments[1 : len(kinds)], known)
    active = arguments[len(kinds)]
    *found, end = operations(body(operation))
    outer = warp.region(inner_block, found, active)
    new, last = warp.parts(end.operands, known), warp.parts(end.operands, as_vectors)
    kept = arguments[len(kinds) + 1 :]
    final = [code.select(active, a, b, k) for a, b, k in zip(last, kept, result_kinds, strict=True)]
    warp.arrays.poll(warp, operation)
    moved = _advance(warp, arguments[0], simple, step, kind)
    again = code.both(active, _inside(warp, low, moved, simple, high))
    code.operation("scf.yield", [moved, *new, again, *final])
    warp.leave(outer)
    warp.bind(results, list(made.results)[len(kinds) + 1 :], as_vectors)


def _starts_together(warp: Warp, operation: Operation, bounds: Sequence[Value]) -> bool:
    """Whether lanes differ only near the end: then most iterations need no mask. The code is written twice for it.

    No lane starts below lane 0: a start that wraps around downwards would lie above the bound.
    """
    low, high, step = (warp.analysis.at(bound) for bound in bounds)
    alike = low.fixed and min(low.offsets or (0,)) >= 0 and high.uniform and step.uniform and warp.mask is None
    return alike and warp.analysis.at(body(operation).arguments[0]).known and _size(operation) <= _MOST_WRITTEN_TWICE


def _size(operation: Operation) -> int:
    return sum(1 + _size(child) for child in inner(operation))


def _together(
    warp: Warp, operation: Operation, bounds: Sequence[Value], parts: Sequence[Value], kinds: Sequence[Type]
) -> list[Value]:
    """The iterations in which the last lane, too, is inside its bound; then the counter that follows."""
    code, (low, high, step) = warp.code, bounds
    kind, span = low.type, warp.analysis.at(low).span
    bits = int_width(kind)
    assert bits is not None, kind
    least = -(1 << bits - 1)
    limit = code.value("arith.subi", (warp.scalar(high), code.constant(span, kind)), kind)
    wraps = code.compare("slt", warp.scalar(high), code.constant(least + span, kind))
    limit = code.select(wraps, code.constant(least, kind), limit, kind)
    limits = [warp.scalar(low), limit, warp.scalar(step)]
    return _plain(warp, operation, limits, [*parts, warp.scalar(low)], [*kinds, kind])


def _advance(warp: Warp, counter: Value, simple: bool, step: Value, kind: Type) -> Value:
    if simple:
        return warp.code.value("arith.addi", (counter, warp.scalar(step)), kind)
    return warp.code.value("arith.addi", (counter, warp.vector(step)), warp.code.wide(kind))


def _inside(warp: Warp, low: Value, counter: Value, simple: bool, high: Value) -> Value:
    """The lanes whose counter is below its bound."""
    kind = low.type
    wide = warp.spread(counter, kind, warp.analysis.at(low).offsets or ()) if simple else counter
    return warp.code.compare_lanes("slt", wide, warp.vector(high))


def _while(warp: Warp, operation: Operation) -> None:
    """Lanes leave together, or one by one: then each keeps what it had when it left."""
    code, lanes = warp.code, warp.code.wide("i1")
    before, after = body(operation, 0), body(operation, 1)
    entering, passing, results = list(before.arguments), list(after.arguments), list(operation.results)
    known, passed, as_vectors = warp.known(entering), warp.known(passing), [False] * len(results)
    kinds, passed_kinds = warp.part_types(entering, known), warp.part_types(passing, passed)
    result_kinds = warp.part_types(results, as_vectors)
    *found, end = operations(before)
    condition, *forwarded = end.operands
    together = warp.analysis.at(condition).uniform
    own = [] if together else [_everybody(warp), *(code.zero(kind) for kind in result_kinds)]
    own_kinds = [] if together else [lanes, *result_kinds]
    parts = [*warp.parts(operation.operands, known), *own]
    made = code.operation("scf.while", parts, [*passed_kinds, *own_kinds], regions=2)

    head = code.append_block(made, 0, [*kinds, *own_kinds])
    arguments = list(head.arguments)
    warp.bind(entering, arguments[: len(kinds)], known)
    carried = arguments[len(kinds) :]
    outer = warp.region(head, found, warp.mask if together else carried[0])
    values = warp.parts(forwarded, passed)
    if together:
        code.operation("scf.condition", [warp.scalar(condition), *values])
    else:
        active, *kept = carried
        last = zip(warp.parts(forwarded, as_vectors), kept, result_kinds, strict=True)
        final = [code.select(active, new, old, kind) for new, old, kind in last]
        going = code.both(active, warp.vector(condition))
        code.operation("scf.condition", [code.any(going), *values, going, *final])
    warp.leave(outer)

    inside = code.append_block(made, 1, [*passed_kinds, *own_kinds])
    arguments = list(inside.arguments)
    warp.bind(passing, arguments[: len(passed_kinds)], passed)
    own = arguments[len(passed_kinds) :]
    *found, end = operations(after)
    outer = warp.region(inside, found, own[0] if own else warp.mask)
    warp.arrays.poll(warp, operation)
    code.operation("scf.yield", [*warp.parts(end.operands, known), *own])
    warp.leave(outer)
    if together:
        warp.bind(results, list(made.results), passed)
    else:
        warp.bind(results, list(made.results)[len(passed_kinds) + 1 :], as_vectors)
    warp.arrays.left(warp, operation)


def _everybody(warp: Warp) -> Value:
    """The active lanes, as a mask."""
    code = warp.code
    return code.dense(", ".join(["true"] * code.width), code.wide("i1")) if warp.mask is None else warp.mask


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {"scf.if": _if, "scf.for": _for, "scf.while": _while}
