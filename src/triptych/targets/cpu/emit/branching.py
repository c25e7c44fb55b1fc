"""Branches of a warp: uniform ones as they are, divergent ones as both sides under masks.

A side that no lane takes is skipped when it does more than compute, or than change elements of its thread's own arrays:
these are vectors of lanes, in which the others' elements are kept, so that code without a branch is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triptych.ir.handles import Operation, Value
from triptych.ir.types import byte_size, count_and_element
from triptych.kernel_ir.analysis.addresses import steps
from triptych.kernel_ir.dialects.kernel_operations import (
    array_size,
    body,
    has_body,
    inner,
    is_ordered,
    is_pure,
    operations,
    producer,
)
from triptych.targets.cpu.emit.values import StackSlot
from triptych.targets.cpu.emit.warp import Warp

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


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {"scf.if": _if}
