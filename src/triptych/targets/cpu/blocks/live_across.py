"""Values live across barriers: spilled to memory of the warp, or rematerialized in the next segment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triptych.ir.handles import Operation, Type, Value
from triptych.ir.types import int_width, is_pointer
from triptych.kernel_ir.analysis.addresses import is_private
from triptych.kernel_ir.analysis.uniformity import UniformityAnalysis
from triptych.kernel_ir.dialects.kernel_operations import body, inner, is_pure, producer, walk
from triptych.targets.cpu.blocks.barrier_regions import Item, Segment, UniformControlFlow, is_block, segments

_CHEAP_WIDTHS = (1, 8, 16, 32, 64)
_MOST_REMATERIALIZED = 64
"""Operations that a value may take to be made again; memory is cheaper than more of them."""


class LiveAcross:
    """For every segment the values that it needs from elsewhere, and which values need a home in memory."""

    def __init__(self, items: Sequence[Item], analysis: UniformityAnalysis) -> None:
        self._analysis = analysis
        self._maker: dict[Value, Segment] = {}
        self._place_of: dict[Value, Value] = {}
        """Values that share the home of another: results of loops, and what is carried into the next iteration."""
        self._placed: set[Value] = set()
        """Values that a loop or branch of the block carries: they always have a home."""
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
        """The value whose home this one shares; itself by default."""
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
        """Values whose homes are free when an item has run: what loops and branches carry keeps its own."""
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
