"""Barrier regions of a kernel: segments that every warp runs to their end, what the block does and keeps in between.

A barrier in control flow that the whole block takes together needs no waiting: the loop or branch belongs to the
block, and around each stretch between barriers runs a loop over the warps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from math import prod
from typing import TypeAlias

from triptych.ir.handles import Operation, Type, Value
from triptych.ir.types import int_width, is_pointer
from triptych.kernel_ir.analysis.addresses import is_private
from triptych.kernel_ir.analysis.lanes import Level
from triptych.kernel_ir.analysis.uniformity import UniformityAnalysis
from triptych.kernel_ir.dialects.check import passes_barrier
from triptych.kernel_ir.dialects.kernel_operations import (
    body,
    has,
    has_body,
    inner,
    is_pure,
    operations,
    producer,
    traits,
    walk,
    writes,
)
from triptych.kernel_ir.dialects.opdef import Traits
from triptych.kernel_ir.dialects.simt import BARRIER
from triptych.support.dataclass import dataclass


class NeedsCoroutines(Exception):
    """A barrier stands where not all threads of the block need to come: the kernel needs warps that wait."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation.name)
        self.operation = operation


@dataclass(eq=False)
class Segment:
    """Operations that a warp runs without meeting others; afterwards values are copied to places in memory."""

    operations: list[Operation] = field(default_factory=list)
    copies: list[tuple[Value, Value]] = field(default_factory=list)
    """A value, and the value whose place it goes to: what a loop or branch of the block carries."""
    in_loop: bool = False


@dataclass(eq=False)
class Once:
    """An operation that is the same for the whole block."""

    operation: Operation


@dataclass(eq=False)
class UniformControlFlow:
    """A loop or branch around barriers: one list of items for each region."""

    operation: Operation
    bodies: list[list[Item]]


Item: TypeAlias = Segment | Once | UniformControlFlow


def partition_at_barriers(kernel: Operation, analysis: UniformityAnalysis) -> tuple[list[Item], frozenset[Operation]]:
    """Cut the kernel. Raises `NeedsCoroutines` when a barrier cannot be a cut.

    Also gives the operations whose results are the same for the block but must be computed by every warp: with any,
    the analysis has to be made anew.
    """
    planner = _Planner(analysis)
    items = planner.items(operations(body(kernel))[:-1], (), (), in_loop=False)
    return items, frozenset(planner.per_warp)


def is_block(analysis: UniformityAnalysis, value: Value) -> bool:
    """Whether a value is one and the same scalar for the block (with known differences between lanes)."""
    found = analysis.at(value)
    return found.known and found.level == Level.BLOCK


def segments(items: Sequence[Item]) -> Iterator[Segment]:
    for item in items:
        if isinstance(item, Segment):
            yield item
        elif isinstance(item, UniformControlFlow):
            for inside in item.bodies:
                yield from segments(inside)


class _Planner:
    def __init__(self, analysis: UniformityAnalysis) -> None:
        self._analysis = analysis
        self.per_warp: list[Operation] = []

    def items(
        self, found: Sequence[Operation], leaving: Sequence[Value], places: Sequence[Value], *, in_loop: bool
    ) -> list[Item]:
        """Cut a list of operations; at its end the values `leaving` go to the places of `places`."""
        items: list[Item] = []
        pending: list[Segment] = []

        def segment() -> Segment:
            if not pending:
                pending.append(Segment(in_loop=in_loop))
                items.append(pending[0])
            return pending[0]

        for operation in found:
            if traits(operation).is_barrier():
                if not self._is_of_the_block(operation):
                    raise NeedsCoroutines(operation)
                pending.clear()
            elif traits(operation).encloses and has(operation, Traits.is_barrier):
                self._copy(segment, *_entering(operation))
                pending.clear()
                items.append(self._together(operation))
            elif passes_barrier(operation):
                pending.clear()
                items.append(Once(operation))
            elif self._is_once(operation):
                if has(operation, lambda row: row.reads) and pending and _writes(pending[0]):
                    pending.clear()
                elif pending:
                    # What the block computes comes before the warps' loop that is still open.
                    items.insert(len(items) - 1, Once(operation))
                    continue
                items.append(Once(operation))
            else:
                if any(is_block(self._analysis, result) for result in operation.results):
                    self.per_warp.append(operation)
                segment().operations.append(operation)
        self._copy(segment, leaving, places)
        return items

    def _is_of_the_block(self, barrier: Operation) -> bool:
        """Whether every thread of the block waits here: its own barrier, or a named one that counts all of them."""
        if barrier.name == "gpu.barrier":
            return True
        counts = [self._analysis.at(operand).constant for operand in list(barrier.operands)[1:]]
        block = self._analysis.block
        return barrier.name == BARRIER and block is not None and counts in ([], [prod(block)])

    def _copy(self, segment: Callable[[], Segment], values: Sequence[Value], places: Sequence[Value]) -> None:
        for value, place in zip(values, places, strict=True):
            if not is_block(self._analysis, place) and value != place:
                segment().copies.append((value, place))

    def _together(self, operation: Operation) -> UniformControlFlow:
        if operation.name == "scf.for":
            self._require(operation, list(operation.operands)[:3])
            *found, end = operations(body(operation))
            places = list(body(operation).arguments)[1:]
            return UniformControlFlow(operation, [self.items(found, list(end.operands), places, in_loop=True)])
        if operation.name == "scf.if":
            self._require(operation, [operation.operands[0]])
            bodies = []
            for side in range(2):
                if not has_body(operation, side):
                    bodies.append(self.items([], [], [], in_loop=False))
                    continue
                *found, end = operations(body(operation, side))
                bodies.append(self.items(found, list(end.operands), list(operation.results), in_loop=False))
            return UniformControlFlow(operation, bodies)
        before, after = body(operation, 0), body(operation, 1)
        *tested, condition = operations(before)
        self._require(operation, [condition.operands[0]])
        *found, end = operations(after)
        return UniformControlFlow(
            operation,
            [
                self.items(tested, list(condition.operands)[1:], list(after.arguments), in_loop=True),
                self.items(found, list(end.operands), list(before.arguments), in_loop=True),
            ],
        )

    def _require(self, operation: Operation, values: Sequence[Value]) -> None:
        for value in values:
            if not (is_block(self._analysis, value) and self._analysis.at(value).uniform):
                raise NeedsCoroutines(operation)

    def _is_once(self, operation: Operation) -> bool:
        """Whether the block can do it once for all warps."""
        name = operation.name
        if name == "cf.assert":
            return self._uniform(operation.operands[0])
        if traits(operation).encloses:
            return not has(operation, Traits.is_of_each_thread) and self._all_uniform(operation)
        if not (is_pure(operation) or name == "llvm.load"):
            return False
        return all(is_block(self._analysis, result) for result in operation.results)

    def _uniform(self, value: Value) -> bool:
        return is_block(self._analysis, value) and self._analysis.at(value).uniform

    def _all_uniform(self, operation: Operation) -> bool:
        """Whether everything in a loop or branch is the same for the block."""
        values = [*operation.results, *operation.operands]
        values += [argument for region in operation.regions for block in region.blocks for argument in block.arguments]
        if not all(self._uniform(value) for value in values):
            return False
        return all(
            self._all_uniform(child) for child in inner(operation) if child.name not in ("scf.yield", "scf.condition")
        )


def _writes(segment: Segment) -> bool:
    return any(writes(operation) for operation in segment.operations)


def _entering(operation: Operation) -> tuple[list[Value], list[Value]]:
    """What enters a loop, and the arguments it becomes."""
    if operation.name == "scf.for":
        return list(operation.operands)[3:], list(body(operation).arguments)[1:]
    if operation.name == "scf.while":
        return list(operation.operands), list(body(operation, 0).arguments)
    return [], []


# Values live across barriers: spilled to memory of the warp, or rematerialized in the next segment.

_CHEAP_WIDTHS = (1, 8, 16, 32, 64)
_MOST_REMATERIALIZED = 64
"""Operations that a value may take to be made again; memory is cheaper than more of them."""


class LiveAcross:
    """For every segment the values that it needs from elsewhere, and which values need a slot in memory."""

    def __init__(self, items: Sequence[Item], analysis: UniformityAnalysis) -> None:
        self._analysis = analysis
        self._maker: dict[Value, Segment] = {}
        self._place_of: dict[Value, Value] = {}
        """Values that share the slot of another: results of loops, and what is carried into the next iteration."""
        self._placed: set[Value] = set()
        """Values that a loop or branch of the block carries: they always have a slot."""
        self._costs: dict[Value, int | None] = {}
        """Operations that it takes to make a value again; None for what is kept in memory."""
        self._collect_places(items)
        for segment in segments(items):
            for operation in segment.operations:
                for result in operation.results:
                    self._maker[result] = segment
                    self._costs[result] = self._cost_of(operation, result.type)
        self._needs = {segment: self._needed(segment) for segment in segments(items)}
        self._carry_in_place(items)
        self.spilled: set[Value] = {
            self.place(value)
            for needs in self._needs.values()
            for value in needs
            if not self.is_rematerializable(value)
        }
        self.spilled |= self._placed
        self._ends: dict[Item, list[Value]] = {}
        self._collect_ends(items)

    def place(self, value: Value) -> Value:
        """The value whose slot this one shares; itself by default."""
        while value in self._place_of:
            value = self._place_of[value]
        return value

    def stored(self, value: Value) -> bool:
        """Whether a value goes to memory when it has been made."""
        return self.place(value) in self.spilled and value in self._maker and not self.is_rematerializable(value)

    def is_rematerializable(self, value: Value) -> bool:
        """Whether a value from elsewhere is computed again: integer arithmetic on what every warp has anyway."""
        return self._cost(value) is not None

    def needs(self, segment: Segment) -> list[Value]:
        """In the order in which they can be loaded or made again."""
        return list(self._needs[segment])

    def ending(self, item: Item) -> list[Value]:
        """Values whose slots are free when an item has run: what loops and branches carry keeps its own."""
        return self._ends.get(item, [])

    # collecting -------------------------------------------------------------------------------------------------
    def _cost(self, value: Value) -> int | None:
        if value in self._place_of or value in self._placed:
            return None
        return 0 if is_block(self._analysis, value) else self._costs.get(value)

    def _cost_of(self, operation: Operation, kind: Type) -> int | None:
        if is_private(operation):  # an address that is no number: memory cannot hold it
            return 1
        if not is_pure(operation) or inner(operation):
            return None
        if int_width(kind) not in _CHEAP_WIDTHS and not is_pointer(kind):
            return None
        total = 1
        for operand in operation.operands:
            cost = self._cost(operand)
            if cost is None or total + cost > _MOST_REMATERIALIZED:
                return None
            total += cost
        return total

    def _needed(self, segment: Segment) -> dict[Value, None]:
        """What a segment reads of others, after what that is made again from."""
        found: dict[Value, None] = {}

        def add(value: Value) -> None:
            if value in found or is_block(self._analysis, value) or self._maker.get(value) is segment:
                return
            if self.is_rematerializable(value):
                for operand in producer(value).operands:
                    add(operand)
            if value in self._maker or value in self._placed or value in self._place_of:
                found[value] = None

        for value in _uses(segment):
            add(value)
        return found

    def _collect_ends(self, items: Sequence[Item]) -> None:
        last = {value: item for item in items for segment in segments([item]) for value in self._needs[segment]}
        for item in items:
            if isinstance(item, UniformControlFlow):
                for inside in item.bodies:
                    self._collect_ends(inside)
            elif isinstance(item, Segment):
                for value in (result for operation in item.operations for result in operation.results):
                    if self.stored(value) and value not in self._place_of:
                        self._ends.setdefault(last[value], []).append(value)

    def _collect_places(self, items: Sequence[Item]) -> None:
        for item in items:
            if not isinstance(item, UniformControlFlow):
                continue
            operation = item.operation
            results = list(operation.results)
            if operation.name == "scf.if":
                self._add_places(results)
            elif operation.name == "scf.for":
                arguments = list(body(operation).arguments)[1:]
                self._add_places(arguments)
                self._share(results, arguments)
            else:
                after = list(body(operation, 1).arguments)
                self._add_places(list(body(operation, 0).arguments))
                self._add_places(after)
                self._share(results, after)
            for inside in item.bodies:
                self._collect_places(inside)

    def _add_places(self, values: Sequence[Value]) -> None:
        self._placed |= {value for value in values if not is_block(self._analysis, value)}

    def _share(self, values: Sequence[Value], places: Sequence[Value]) -> None:
        self._place_of |= {v: p for v, p in zip(values, places, strict=True) if p in self._placed}

    def _carry_in_place(self, items: Sequence[Item]) -> None:
        """Let what a loop carries be stored where the next iteration looks for it, when nobody still reads that."""
        for item in items:
            if not isinstance(item, UniformControlFlow):
                continue
            for inside in item.bodies:
                self._carry_in_place(inside)
            if item.operation.name == "scf.for":
                self._carry_body(item.bodies[0])

    def _carry_body(self, items: list[Item]) -> None:
        last = items[-1] if items else None
        if not isinstance(last, Segment):
            return
        sources = [value for value, _ in last.copies]
        for value, place in list(last.copies):
            maker = self._maker.get(value)
            if maker is None or maker not in items or sources.count(value) > 1 or self.is_rematerializable(value):
                continue
            later = list(segments(items[items.index(maker) + 1 :]))
            if any(place in self._needs[segment] for segment in later):
                continue
            last.copies.remove((value, place))
            self._place_of[value] = place
        self._needs[last] = self._needed(last)
        if not last.operations and not last.copies:
            items.remove(last)


def _uses(segment: Segment) -> Iterator[Value]:
    """What the operations of a segment read, and what it copies at its end."""
    for operation in segment.operations:
        yield from operation.operands
        for child in walk(operation):
            yield from child.operands
    for value, _ in segment.copies:
        yield value
