"""Barrier regions of a kernel: segments that every warp runs to their end, and what the block does in between.

A barrier in control flow that the whole block takes together needs no waiting: the loop or branch belongs to the
block, and around each stretch between barriers runs a loop over the warps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from triptych.ir.handles import Operation, Value
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
    traits,
    writes,
)
from triptych.kernel_ir.dialects.opdef import Traits
from triptych.kernel_ir.dialects.simt import BARRIER


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
