"""Branches of a warp: a choice that all lanes make alike, or both sides under masks.

A side that no lane takes is skipped when it does more than compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triptych.ir.handles import Operation, Value
from triptych.simt.operations import body, has_body, inner, is_pure, operations
from triptych.targets.cpu.simt.warp import Warp

DIVISIONS = frozenset(
    {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi", "arith.ceildivsi"}
)
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
        outer = warp.region(warp.code.block(made, side), found, warp.mask)
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
    if _only_computes(found):
        before, warp.mask = warp.mask, mask
        warp.open_region()
        warp.run(found)
        parts = warp.parts(end.operands, as_vectors)
        warp.close_region()
        warp.mask = before
        return parts
    made = warp.code.operation("scf.if", (warp.code.any(mask),), kinds, regions=2)
    outer = warp.region(warp.code.block(made, 0), found, mask)
    warp.code.operation("scf.yield", warp.parts(end.operands, as_vectors))
    warp.leave(outer)
    if kinds:
        outer = warp.region(warp.code.block(made, 1), (), mask)
        warp.code.operation("scf.yield", [warp.code.zero(kind) for kind in kinds])
        warp.leave(outer)
    return list(made.results)


def _only_computes(found: Sequence[Operation]) -> bool:
    """Whether a side is a few operations without effects that may as well run for nothing."""
    return len(found) <= _CHEAP and all(is_pure(o) and not inner(o) and o.name not in DIVISIONS for o in found)


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {"scf.if": _if}
