"""Branches on run-time conditions: both sides are traced, and the variables they assign meet after them."""

from __future__ import annotations

from typing import Any

from triptych.hooks import DEAD, RETURN_VALUE, UNDEFINED, Get, Names, Set, Thunk
from triptych.metastage.join_errors import branch_mismatch
from triptych.metastage.plans import MismatchError, Plan, meet
from triptych.metastage.scalars import Boolean
from triptych.metastage.tracing import Region, Trace, place
from triptych.metastage.variables import Partial, Pending, bare, missing_path, settle

SIDES = ("the condition is true", "the condition is false")


def branch(trace: Trace, test: Boolean, sides: tuple[Thunk, Thunk], names: Names, get: Get, set_: Set) -> Any:
    """Emit `scf.if`; returns what the two sides returned, met like a variable."""
    before = get()
    starts = (before, before)
    return two_sided(trace, test, sides, starts, names, get, set_)


def two_sided(
    trace: Trace,
    test: Boolean,
    sides: tuple[Thunk, Thunk],
    starts: tuple[tuple[Any, ...], tuple[Any, ...]],
    names: Names,
    get: Get,
    set_: Set,
) -> Any:
    """`branch` where each side starts with its own values of the variables."""
    draft = trace.operation("scf.if", (test.ir_value(),), regions=2)
    location = trace.location()
    regions: list[Region] = []
    ends: list[tuple[Any, ...]] = []
    for index, (side, start) in enumerate(zip(sides, starts, strict=True)):
        set_(start)
        with trace.inside(trace.builder.append_block(draft, index, (), location), "branch") as region:
            result = side()
            ends.append((*get(), result))
        regions.append(region)
    plans, missing = _meet_all((*names, ""), ends[0], ends[1])
    results = _finish(trace, draft, regions, plans, ends, test)
    values = [plan.build(results, trace) for plan in plans]
    for index, (value, path) in enumerate(zip(values, missing, strict=True)):
        if path is not None and value is not UNDEFINED:
            values[index] = Partial(value, path)
    set_(tuple(values[:-1]))
    return values[-1]


def _meet_all(
    names: Names, left: tuple[Any, ...], right: tuple[Any, ...]
) -> tuple[list[Plan], list[tuple[str, Any] | None]]:
    plans: list[Plan] = []
    missing: list[tuple[str, Any] | None] = []
    for name, one, other in zip(names, left, right, strict=True):
        missing.append(missing_path(one, other) or _side_without(one, other))
        try:
            plans.append(meet(*settle(one, other)))
        except MismatchError as mismatch:
            raise branch_mismatch(name, mismatch, returning=name == RETURN_VALUE) from None
    return plans, missing


def _side_without(one: Any, other: Any) -> tuple[str, Any] | None:
    undefined = [isinstance(v, Pending) or v is UNDEFINED for v in (one, other)]
    if undefined[0] == undefined[1] or one is DEAD or other is DEAD:
        return None
    return (f"when {SIDES[undefined.index(True)]}", place())


def _finish(
    trace: Trace, draft: Any, regions: list[Region], plans: list[Plan], ends: list[tuple[Any, ...]], test: Boolean
) -> Any:
    """Close both sides with their values; the final operation replaces the draft when it needs results."""
    types = [trace.builder.type(text) for plan in plans for text in plan.types()]
    for region, end in zip(regions, ends, strict=True):
        with trace.resumed(region):
            lowered: list[Any] = []
            for plan, value in zip(plans, end, strict=True):
                known = bare(value)
                lowered += plan.placeholder(trace) if known is UNDEFINED else plan.lower(known, trace)
            trace.operation("scf.yield", lowered)
    if not types:
        return iter(())
    final = trace.operation("scf.if", (test.ir_value(),), types, regions=2)
    trace.builder.move_blocks(draft, final)
    return iter(final.results)
