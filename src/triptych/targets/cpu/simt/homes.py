"""Where values live between stretches of a kernel: in memory of the warp, or nowhere because they are made again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from triptych.simt.analysis import LaneAnalysis
from triptych.simt.operations import body, inner, is_pure
from triptych.targets.cpu.simt.plan import Item, Segment, Together, is_block, segments

_CHEAP_TYPES = ("i1", "i8", "i16", "i32", "i64", "index")


class Crossings:
    """For every segment the values that it needs from elsewhere, and which values need a home in memory."""

    def __init__(self, items: Sequence[Item], analysis: LaneAnalysis) -> None:
        self._analysis = analysis
        self._maker: dict[Any, Segment] = {}
        self._place_of: dict[Any, Any] = {}
        """Values that share the home of another: results of loops, and what is carried into the next iteration."""
        self._placed: set[Any] = set()
        """Values that a loop or branch of the block carries: they always have a home."""
        for segment in segments(items):
            for operation in segment.operations:
                for result in operation.results:
                    self._maker[result] = segment
        self._collect_places(items)
        self._needs = {segment: self._needed(segment) for segment in segments(items)}
        self._carry_in_place(items)
        self.homed: set[Any] = {
            self.place(value) for needs in self._needs.values() for value in needs if not self.remade(value)
        }
        self.homed |= self._placed

    def place(self, value: Any) -> Any:
        """The value whose home this one shares; itself by default."""
        while value in self._place_of:
            value = self._place_of[value]
        return value

    def stored(self, value: Any) -> bool:
        """Whether a value goes to memory when it has been made."""
        return self.place(value) in self.homed and value in self._maker and not self.remade(value)

    def remade(self, value: Any) -> bool:
        """Whether a value from elsewhere is computed again: integer arithmetic on what every warp has anyway."""
        if value in self._place_of or value in self._placed:
            return False
        if is_block(self._analysis, value):
            return True
        maker = value.owner.operation if value in self._maker else None
        if maker is None or not is_pure(maker.name) or inner(maker):
            return maker is not None and maker.name == "llvm.alloca"
        kind = str(value.type)
        if kind not in _CHEAP_TYPES and not kind.startswith("!llvm.ptr"):
            return False
        return all(self.remade(operand) for operand in maker.operands)

    def needs(self, segment: Segment) -> list[Any]:
        """In the order in which they can be loaded or made again."""
        ordered: list[Any] = []

        def add(value: Any) -> None:
            if value in ordered or is_block(self._analysis, value) or self._maker.get(value) is segment:
                return
            if self.remade(value):
                for operand in value.owner.operation.operands:
                    add(operand)
            ordered.append(value)

        for value in self._needs[segment]:
            add(value)
        return ordered

    # collecting -------------------------------------------------------------------------------------------------
    def _needed(self, segment: Segment) -> list[Any]:
        found: dict[Any, None] = {}
        for operation in segment.operations:
            for value in _uses(operation):
                if value in self._maker or value in self._placed or value in self._place_of:
                    found[value] = None
        for value, _ in segment.copies:
            if value in self._maker or value in self._placed or value in self._place_of:
                found[value] = None
        return [value for value in found if self._maker.get(value) is not segment]

    def _collect_places(self, items: Sequence[Item]) -> None:
        for item in items:
            if not isinstance(item, Together):
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

    def _add_places(self, values: Sequence[Any]) -> None:
        self._placed |= {value for value in values if not is_block(self._analysis, value)}

    def _share(self, values: Sequence[Any], places: Sequence[Any]) -> None:
        self._place_of |= {v: p for v, p in zip(values, places, strict=True) if p in self._placed}

    def _carry_in_place(self, items: Sequence[Item]) -> None:
        """Let what a loop carries be stored where the next iteration looks for it, when nobody still reads that."""
        for item in items:
            if not isinstance(item, Together):
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
            if maker is None or maker not in items or sources.count(value) > 1 or self.remade(value):
                continue
            later = list(segments(items[items.index(maker) + 1 :]))
            if any(place in self._needs[segment] for segment in later):
                continue
            last.copies.remove((value, place))
            self._place_of[value] = place
            if value in self._needs[last] and value not in _all_uses(last):
                self._needs[last].remove(value)
        if not last.operations and not last.copies:
            items.remove(last)


def _uses(operation: Any) -> Iterator[Any]:
    yield from operation.operands
    for child in inner(operation):
        yield from _uses(child)


def _all_uses(segment: Segment) -> set[Any]:
    used = {value for operation in segment.operations for value in _uses(operation)}
    return used | {value for value, _ in segment.copies}
