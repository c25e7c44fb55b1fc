"""Branches on run-time conditions: both sides are traced, and the variables they assign join after them; exit flags of
which one is always raised leave no path that goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from triptych.hooks import DEAD, RETURN_VALUE, UNDEFINED, Get, Names, Set, Thunk
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.kernel_operations import owner_op
from triptych.metastage.control_flow.join_errors import branch_mismatch
from triptych.metastage.control_flow.join_plans import (
    MismatchError,
    Partial,
    Pending,
    Plan,
    Static,
    bare,
    is_dead,
    join,
    missing_path,
    settle,
)
from triptych.metastage.control_flow.object_joins import note_branch
from triptych.metastage.trace.loop_carried_attributes import Finding, LoopCarriedAttributes
from triptych.metastage.trace.trace import Region, Trace, place
from triptych.metastage.values.binding_time import is_dynamic
from triptych.metastage.values.scalars import Boolean

Regions = tuple[Region, Region]
Values = tuple[list[Any], list[Any]]

SIDES = ("the condition is true", "the condition is false")


class BranchForm(Protocol):
    """How a branch is written: where its sides are traced, and what makes one of the values they end with."""

    def open(self, trace: Trace, test: Boolean) -> tuple[Any, Any]:
        """The blocks that the two sides are traced into."""

    def close(self, trace: Trace, test: Boolean, regions: Regions, values: Values) -> Sequence[Any]:
        """One MLIR value for each pair of `values`; the regions can be resumed to end them."""


class ScfIf:
    """`scf.if`: only the side that the condition chooses runs."""

    def open(self, trace: Trace, test: Boolean) -> tuple[Any, Any]:
        self._draft = trace.operation("scf.if", (test.ir_value(),), regions=2)
        location = trace.location()
        first, second = (trace.builder.append_block(self._draft, side, (), location) for side in (0, 1))
        return first, second

    def close(self, trace: Trace, test: Boolean, regions: Regions, values: Values) -> Sequence[Any]:
        """The final operation replaces the draft when it needs results."""
        for region, yielded in zip(regions, values, strict=True):
            with trace.resumed(region):
                trace.operation("scf.yield", yielded)
        if not values[0]:
            return ()
        types = [value.type for value in values[0]]
        final = trace.operation("scf.if", (test.ir_value(),), types, regions=2)
        trace.builder.move_blocks(self._draft, final)
        return list(final.results)


class SharedParts:
    """Where shared memory that the sides of a branch allocate begins: at one place if a block only ever takes one.

    That is so where the condition is made of constants and of numbers of the block: it is the same for every thread,
    and every time that a loop comes here. Elsewhere the second side begins behind the first.
    """

    def __init__(self, trace: Trace, test: Boolean) -> None:
        kernel = trace.kernel
        merges = kernel is not None and kernel.merges_branches and _is_of_block(test.ir_value())
        self._kernel = kernel if merges else None
        self._begin = self._end = 0 if kernel is None else kernel.shared_end

    def begin_side(self) -> None:
        if self._kernel is not None:
            self._end, self._kernel.shared_end = max(self._end, self._kernel.shared_end), self._begin

    def join(self) -> None:
        if self._kernel is not None:
            self._kernel.shared_end = max(self._end, self._kernel.shared_end)


_OF_BLOCK = ("gpu.func", "gpu.block_id", "gpu.grid_dim", "gpu.block_dim")


def _is_of_block(value: Value) -> bool:
    """Whether a number follows from arguments of the kernel and the place of the block; `and` and `or` are branches."""
    made = owner_op(value)
    if made.name == "scf.if":
        ends = [list(region.blocks[0].operations)[-1] for region in made.regions]
        return all(map(_is_of_block, [*made.operands, *(yielded for end in ends for yielded in end.operands)]))
    return made.name in _OF_BLOCK or (made.name.startswith("arith.") and all(map(_is_of_block, made.operands)))


def two_sided(
    trace: Trace,
    test: Boolean,
    sides: tuple[Thunk, Thunk],
    starts: tuple[tuple[Any, ...], tuple[Any, ...]],
    names: Names,
    get: Get,
    set_: Set,
    form: BranchForm,
) -> Any:
    """Trace a branch whose sides start with their own values of the variables.

    Returns what the two sides returned, met like a variable.
    """
    regions: list[Region] = []
    reached: list[tuple[tuple[Any, ...], list[Any], Any]] = []
    attributes = LoopCarriedAttributes(names, starts[0], Finding.TAKEN_UP)
    parts = SharedParts(trace, test)
    for block, side, start in zip(form.open(trace, test), sides, starts, strict=True):
        set_(start)
        parts.begin_side()
        with trace.inside(block, "branch", attributes) as region:
            result = side()
            reached.append((get(), list(attributes.found_values()), result))
        attributes.restore()
        regions.append(region)
    parts.join()
    before = attributes.found_before()
    ends = [(*variables, *found, *before[len(found) :], result) for variables, found, result in reached]
    with trace.looking_back():
        plans, missing = _meet_all((*names, *attributes.found, ""), ends[0], ends[1])
    lowered = [_lowered(trace, region, plans, end) for region, end in zip(regions, ends, strict=True)]
    results = iter(form.close(trace, test, (regions[0], regions[1]), (lowered[0], lowered[1])))
    values = [plan.build(results, trace) for plan in plans]
    note_branch(trace, test, plans, ends, values, regions, attributes)
    for index, (value, path) in enumerate(zip(values, missing, strict=True)):
        if path is not None and value is not UNDEFINED:
            values[index] = Partial(value, path)
    set_(tuple(values[: len(names)]))
    for place_found, value in zip(attributes.found, values[len(names) : -1], strict=True):
        place_found.value = value
    return values[-1]


def _meet_all(
    names: Names, left: tuple[Any, ...], right: tuple[Any, ...]
) -> tuple[list[Plan], list[tuple[str, Any] | None]]:
    plans: list[Plan] = []
    missing: list[tuple[str, Any] | None] = []
    for name, one, other in zip(names, left, right, strict=True):
        missing.append(missing_path(one, other) or _side_without(one, other))
        try:
            plans.append(Static(DEAD) if one is other is DEAD else join(*settle(one, other)))
        except MismatchError as mismatch:
            raise branch_mismatch(name, mismatch, returning=name == RETURN_VALUE) from None
    return plans, missing


def _side_without(one: object, other: object) -> tuple[str, Any] | None:
    undefined = [isinstance(v, Pending) or v is UNDEFINED for v in (one, other)]
    if undefined[0] == undefined[1] or is_dead(one) or is_dead(other):
        return None
    return (f"when {SIDES[undefined.index(True)]}", place())


def _lowered(trace: Trace, region: Region, plans: list[Plan], end: tuple[Any, ...]) -> list[Any]:
    """What a side ends with, as MLIR values; what it leaves unassigned as placeholders."""
    with trace.resumed(region):
        return [
            lowered
            for plan, value in zip(plans, map(bare, end), strict=True)
            for lowered in (plan.placeholder(trace) if value is UNDEFINED else plan.lower(value, trace))
        ]


class ExitFlag(Boolean):
    """A run-time flag of a group of which one is always raised."""

    __slots__ = ("group",)

    group: list[ExitFlag]
    """All flags of the group."""


def exhaustive(flags: tuple[Any, ...]) -> tuple[Any, ...]:
    """The flags, marked as covering every path together."""
    if any(flag is True for flag in flags):
        return flags
    group: list[ExitFlag] = []
    marked = tuple(_marked(flag, group) if isinstance(flag, Boolean) and flag.is_dynamic else flag for flag in flags)
    return marked if len(group) > 1 else tuple(True if is_dynamic(flag) else flag for flag in flags)


def _marked(flag: Boolean, group: list[ExitFlag]) -> ExitFlag:
    assert flag._region is not None, "a flag is a run-time value, which has a region"
    marked = ExitFlag.of(flag.ir_value(), flag._region)
    marked.group = group
    group.append(marked)
    return marked


def is_left(flags: Sequence[Any]) -> bool:
    """Whether one of the flags is certainly raised, or they include a whole group."""
    return any(flag is True for flag in flags) or any(
        all(any(member is flag for flag in flags) for member in flag.group)
        for flag in flags
        if isinstance(flag, ExitFlag)
    )


def is_raised(flags: Sequence[int], get: Get) -> bool:
    """Whether one of the flags at these positions among the variables is up, known while tracing."""
    values = get()
    return any(values[flag] is True for flag in flags)
