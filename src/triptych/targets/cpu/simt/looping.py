"""Loops of a warp: lanes step together, and a loop runs until no lane is active."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from triptych.simt.operations import body, contains, inner, operations
from triptych.targets.cpu.simt.values import Scalar, Wide

if TYPE_CHECKING:
    from triptych.targets.cpu.simt.warp import Warp

_LOOPS = frozenset({"scf.for", "scf.while"})
_STRETCH = 1 << 16
"""Iterations between two looks at interrupts."""
_HUGE_STEP = 1 << 46


def _for(warp: Warp, operation: Any) -> None:
    bounds, initial = list(operation.operands)[:3], list(operation.operands)[3:]
    if not all(warp.analysis.at(bound).uniform for bound in bounds):
        _divergent_for(warp, operation, bounds, initial)
        return
    carried = list(body(operation).arguments)[1:]
    known = [warp.analysis.at(value).known for value in carried]
    parts = [v for value, simple in zip(initial, known, strict=True) for _, v in warp.forms(value, simple)]
    kinds = [k for value, simple in zip(carried, known, strict=True) for k in warp.form_types(value, simple)]
    limits = [warp.scalar(bound) for bound in bounds]
    if _is_long(warp, operation) and not any(contains(child, _LOOPS) for child in inner(operation)):
        results = _in_stretches(warp, operation, limits, parts, kinds)
    else:
        results = _counted(warp, operation, limits, parts, kinds)
    warp.bind(list(operation.results), results, known)


def _is_long(warp: Warp, operation: Any) -> bool:
    """Whether a loop may run for so long that a user would want to interrupt it."""
    low, high, step = (warp.analysis.at(bound).constant for bound in list(operation.operands)[:3])
    return low is None or high is None or not step or (high - low) // step > _STRETCH


def _counted(
    warp: Warp, operation: Any, limits: Sequence[Any], parts: Sequence[Any], kinds: Sequence[str]
) -> list[Any]:
    """The loop itself, from `parts` to its results."""
    counter, *carried = body(operation).arguments
    known = [warp.analysis.at(value).known for value in carried]
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    made = warp.code.operation("scf.for", [*limits, *parts], kinds, attributes, regions=1)
    inside = warp.code.block(made, 0, [str(counter.type), *kinds])
    arguments = list(inside.arguments)
    warp.set(counter, Scalar(arguments[0]))
    warp.bind(carried, arguments[1:], known)
    *found, end = operations(body(operation))
    outer = warp.region(inside, found, warp.mask)
    if _is_long(warp, operation) and any(contains(child, _LOOPS) for child in found):
        warp.arrays.poll(warp, operation)
    warp.code.operation(
        "scf.yield", [v for o, simple in zip(end.operands, known, strict=True) for _, v in warp.forms(o, simple)]
    )
    warp.leave(outer)
    return list(made.results)


def _in_stretches(
    warp: Warp, operation: Any, limits: Sequence[Any], parts: Sequence[Any], kinds: Sequence[str]
) -> list[Any]:
    """A loop of loops, with a look at interrupts between two stretches, so that the inner one stays as it is."""
    code, kind = warp.code, str(body(operation).arguments[0].type)
    low, high, step = (_as_i64(warp, limit, kind) for limit in limits)
    whole = code.value("arith.muli", (step, code.constant(_STRETCH, "i64")), "i64")
    huge = code.compare("sgt", step, code.constant(_HUGE_STEP, "i64"))
    whole = code.select(huge, step, whole, "i64")
    made = code.operation("scf.for", [low, high, whole, *parts], kinds, regions=1)
    inside = code.block(made, 0, ["i64", *kinds])
    first, *carried = inside.arguments
    outer = warp.region(inside, (), warp.mask)
    rest = code.value("arith.subi", (high, first), "i64")
    last = code.value("arith.addi", (first, code.value("arith.minsi", (rest, whole), "i64")), "i64")
    stretch = [_from_i64(warp, first, kind), _from_i64(warp, last, kind), limits[2]]
    results = _counted(warp, operation, stretch, carried, kinds)
    warp.arrays.poll(warp, operation)
    code.operation("scf.yield", results)
    warp.leave(outer)
    return list(made.results)


def _as_i64(warp: Warp, value: Any, kind: str) -> Any:
    if kind == "i64":
        return value
    return warp.code.value("arith.index_cast" if kind == "index" else "arith.extsi", (value,), "i64")


def _from_i64(warp: Warp, value: Any, kind: str) -> Any:
    if kind == "i64":
        return value
    return warp.code.value("arith.index_cast" if kind == "index" else "arith.trunci", (value,), kind)


def _divergent_for(warp: Warp, operation: Any, bounds: Sequence[Any], initial: Sequence[Any]) -> None:
    """Lanes start or stop at different counts: step together, each while it is inside its bounds."""
    code, (low, high, step) = warp.code, bounds
    counter, *carried = body(operation).arguments
    kind = str(counter.type)
    simple = warp.analysis.at(counter).known
    known = [warp.analysis.at(value).known for value in carried]
    results = list(operation.results)
    start = warp.forms(low, simple)
    parts = [v for value, one in zip(initial, known, strict=True) for _, v in warp.forms(value, one)]
    ends = [v for value in initial for _, v in warp.forms(value, False)]
    inside = _inside(warp, low, start[0][1], simple, high)
    active = inside if warp.mask is None else code.both(warp.mask, inside)
    kinds = [start[0][0]]
    kinds += [k for value, one in zip(carried, known, strict=True) for k in warp.form_types(value, one)]
    result_kinds = [k for value in results for k in warp.form_types(value, False)]
    every = [*kinds, code.wide("i1"), *result_kinds]
    made = code.operation("scf.while", [start[0][1], *parts, active, *ends], every, regions=2)
    head = code.block(made, 0, every)
    before = code.enter(head)
    arguments = list(head.arguments)
    code.operation("scf.condition", [code.any(arguments[len(kinds)]), *arguments])
    code.leave(before)
    inner_block = code.block(made, 1, every)
    arguments = list(inner_block.arguments)
    warp.set(counter, Scalar(arguments[0]) if simple else Wide(arguments[0]))
    warp.bind(carried, arguments[1 : len(kinds)], known)
    active = arguments[len(kinds)]
    *found, end = operations(body(operation))
    outer = warp.region(inner_block, found, active)
    new = [v for o, one in zip(end.operands, known, strict=True) for _, v in warp.forms(o, one)]
    last = [v for o in end.operands for _, v in warp.forms(o, False)]
    kept = arguments[len(kinds) + 1 :]
    final = [code.select(active, a, b, k) for a, b, k in zip(last, kept, result_kinds, strict=True)]
    warp.arrays.poll(warp, operation)
    moved = _advance(warp, arguments[0], simple, step, kind)
    again = code.both(active, _inside(warp, low, moved, simple, high))
    code.operation("scf.yield", [moved, *new, again, *final])
    warp.leave(outer)
    warp.bind(results, list(made.results)[len(kinds) + 1 :], [False] * len(results))


def _advance(warp: Warp, counter: Any, simple: bool, step: Any, kind: str) -> Any:
    if simple:
        return warp.code.value("arith.addi", (counter, warp.scalar(step)), kind)
    return warp.code.value("arith.addi", (counter, warp.vector(step)), warp.code.wide(kind))


def _inside(warp: Warp, low: Any, counter: Any, simple: bool, high: Any) -> Any:
    """The lanes whose counter is below its bound."""
    kind = str(low.type)
    wide = warp.spread(counter, kind, warp.analysis.at(low).offsets or ()) if simple else counter
    return warp.code.compare("slt", wide, warp.vector(high), lanes=True)


def _while(warp: Warp, operation: Any) -> None:
    condition = operations(body(operation, 0))[-1].operands[0]
    if warp.analysis.at(condition).uniform:
        _uniform_while(warp, operation)
    else:
        _divergent_while(warp, operation)
    warp.arrays.left(warp, operation)


def _uniform_while(warp: Warp, operation: Any) -> None:
    code = warp.code
    before, after = body(operation, 0), body(operation, 1)
    entering, passing = list(before.arguments), list(after.arguments)
    known = [warp.analysis.at(value).known for value in entering]
    passed = [warp.analysis.at(value).known for value in passing]
    results = list(operation.results)
    parts = [v for o, one in zip(operation.operands, known, strict=True) for _, v in warp.forms(o, one)]
    kinds = [k for value, one in zip(entering, known, strict=True) for k in warp.form_types(value, one)]
    passed_kinds = [k for value, one in zip(passing, passed, strict=True) for k in warp.form_types(value, one)]
    made = code.operation("scf.while", parts, passed_kinds, regions=2)
    head = code.block(made, 0, kinds)
    warp.bind(entering, list(head.arguments), known)
    *found, end = operations(before)
    outer = warp.region(head, found, warp.mask)
    condition, *forwarded = end.operands
    values = [v for o, one in zip(forwarded, passed, strict=True) for _, v in warp.forms(o, one)]
    code.operation("scf.condition", [warp.scalar(condition), *values])
    warp.leave(outer)
    inside = code.block(made, 1, passed_kinds)
    warp.bind(passing, list(inside.arguments), passed)
    *found, end = operations(after)
    outer = warp.region(inside, found, warp.mask)
    warp.arrays.poll(warp, operation)
    code.operation("scf.yield", [v for o, one in zip(end.operands, known, strict=True) for _, v in warp.forms(o, one)])
    warp.leave(outer)
    warp.bind(results, list(made.results), passed)


def _divergent_while(warp: Warp, operation: Any) -> None:
    """Lanes leave one by one; each keeps what it had when it left."""
    code = warp.code
    before, after = body(operation, 0), body(operation, 1)
    entering, passing = list(before.arguments), list(after.arguments)
    known = [warp.analysis.at(value).known for value in entering]
    passed = [warp.analysis.at(value).known for value in passing]
    results = list(operation.results)
    parts = [v for o, one in zip(operation.operands, known, strict=True) for _, v in warp.forms(o, one)]
    kinds = [k for value, one in zip(entering, known, strict=True) for k in warp.form_types(value, one)]
    passed_kinds = [k for value, one in zip(passing, passed, strict=True) for k in warp.form_types(value, one)]
    result_kinds = [k for value in results for k in warp.form_types(value, False)]
    active = warp.mask if warp.mask is not None else code.dense(", ".join(["true"] * code.width), code.wide("i1"))
    lanes = code.wide("i1")
    zeros = [code.zero(kind) for kind in result_kinds]
    made = code.operation("scf.while", [*parts, active, *zeros], [*passed_kinds, lanes, *result_kinds], regions=2)
    head = code.block(made, 0, [*kinds, lanes, *result_kinds])
    arguments = list(head.arguments)
    warp.bind(entering, arguments[: len(kinds)], known)
    active, kept = arguments[len(kinds)], arguments[len(kinds) + 1 :]
    *found, end = operations(before)
    outer = warp.region(head, found, active)
    condition, *forwarded = end.operands
    values = [v for o, one in zip(forwarded, passed, strict=True) for _, v in warp.forms(o, one)]
    final = [v for o in forwarded for _, v in warp.forms(o, False)]
    final = [code.select(active, a, b, k) for a, b, k in zip(final, kept, result_kinds, strict=True)]
    going = code.both(active, warp.vector(condition))
    code.operation("scf.condition", [code.any(going), *values, going, *final])
    warp.leave(outer)
    inside = code.block(made, 1, [*passed_kinds, lanes, *result_kinds])
    arguments = list(inside.arguments)
    warp.bind(passing, arguments[: len(passed_kinds)], passed)
    rest = arguments[len(passed_kinds) :]
    *found, end = operations(after)
    outer = warp.region(inside, found, rest[0])
    warp.arrays.poll(warp, operation)
    parts = [v for o, one in zip(end.operands, known, strict=True) for _, v in warp.forms(o, one)]
    code.operation("scf.yield", [*parts, *rest])
    warp.leave(outer)
    warp.bind(results, list(made.results)[len(passed_kinds) + 1 :], [False] * len(results))


HANDLERS: dict[str, Callable[[Any, Any], None]] = {"scf.for": _for, "scf.while": _while}
