"""The order of many sums: a few at a time over all their terms, so that these few stay in registers.

Input: a stretch of operations that a warp runs one after the other. Output: the same operations. A product of fragments
by single numbers adds one term to each of 64 sums, then the next to each: with vectors for numbers that is twice what
a machine has of registers, and every addition would load and store its sum. Sums touch only arrays of their thread, so
they may come after everything else, group by group. What they multiply is taken from what was stored, so that the next
factors may be stored before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from triptych.simt.operations import element_indices, element_size, inner, walk
from triptych.targets.cpu.simt.values import element_of

SUM = "math.fma"
TOGETHER = 16
"""Sums of a group: half of the registers of AVX-512, which leaves room for what is multiplied."""
_MANY = 2 * TOGETHER


@dataclass(frozen=True, slots=True)
class _Place:
    """A stretch of an array of the thread, in bytes."""

    root: Any
    start: int
    end: int

    def meets(self, other: _Place) -> bool:
        return bool(self.root == other.root) and self.start < other.end and other.start < self.end

    def covers(self, other: _Place) -> bool:
        return bool(self.root == other.root) and self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Taken:
    """A load whose value is known: an element of what was stored there."""

    load: Any
    value: Any
    element: int


class _Unordered(Exception):
    """Something needs the order as it is."""


def grouped_sums(found: Sequence[Any]) -> Sequence[Any]:
    """The operations in the order in which they are to be run; some loads are `Taken`."""
    sums = {operation for operation in found if operation.name == SUM}
    if len(sums) < _MANY:
        return found
    end = 1 + max(i for i, operation in enumerate(found) if operation in sums or _stores_one(operation, sums))
    try:
        groups = _Groups(found[:end], sums)
    except _Unordered:
        return found
    return [*groups.others, *(operation for members in groups.members for operation in members), *found[end:]]


def _stores_one(operation: Any, sums: set[Any]) -> bool:
    return operation.name == "llvm.store" and _maker(operation.operands[0]) in sums


class _Groups:
    """Which operations belong to which group of sums; the others come first."""

    def __init__(self, found: Sequence[Any], sums: set[Any]) -> None:
        self._sums = sums
        self._chains: dict[Any, Any] = {}
        """The sum's place in memory, or the sum that it goes on from, by the result."""
        self._numbers: dict[Any, int] = {}
        """The number of each place, in the order in which they come."""
        placed = {operation: self._group(operation) for operation in found if self._is_of_sums(operation)}
        self.others = [operation for operation in found if operation not in placed]
        taken = dict(self._taken(found, placed))
        self._require_independence(found, {operation: n for operation, n in placed.items() if operation not in taken})
        self.members: list[list[Any]] = [[] for _ in range(max(placed.values()) + 1)]
        for operation in found:
            if operation in placed:
                self.members[placed[operation]].append(taken.get(operation, operation))

    def _is_of_sums(self, operation: Any) -> bool:
        if operation in self._sums:
            return True
        if operation.name == "llvm.load":
            users = [use.owner.operation for use in operation.results[0].uses]
            return _place(operation) is not None and bool(users) and all(user in self._sums for user in users)
        return _stores_one(operation, self._sums)

    def _group(self, operation: Any) -> int:
        if operation.name == "llvm.load":
            return min(self._number(use.owner.operation) for use in operation.results[0].uses) // TOGETHER
        return self._number(operation if operation.name == SUM else _maker(operation.operands[0])) // TOGETHER

    def _number(self, sum_: Any) -> int:
        """The number of a chain of sums: that of the place where it begins."""
        while (before := _maker(sum_.operands[2])) in self._sums:
            sum_ = before
        begin = _place(before) if before is not None and before.name == "llvm.load" else None
        if begin is None:
            raise _Unordered
        return self._numbers.setdefault((begin.root, begin.start), len(self._numbers))

    def _taken(self, found: Sequence[Any], placed: dict[Any, int]) -> Iterator[tuple[Any, Taken]]:
        """The loads of sums that read what an operation of the others has stored before."""
        stored: dict[_Place, Any] = {}
        for operation in found:
            place = _place(operation)
            if place is None:
                roots = {known.root for known in stored}
                if _touches(operation, roots):
                    stored.clear()
            elif operation.name == "llvm.store":
                stored = {known: value for known, value in stored.items() if not known.meets(place)}
                if operation not in placed:
                    stored[place] = operation.operands[0]
            elif operation in placed:
                for known, value in stored.items():
                    if known.covers(place) and element_of(str(value.type)) == str(operation.results[0].type):
                        yield (
                            operation,
                            Taken(operation, value, (place.start - known.start) // (place.end - place.start)),
                        )

    def _require_independence(self, found: Sequence[Any], placed: dict[Any, int]) -> None:
        """What moves behind the others must not have been before any of them for a reason."""
        earlier: list[tuple[_Place, bool]] = []
        roots = set()
        for operation in found:
            place = _place(operation)
            writes = operation.name == "llvm.store"
            if operation in placed:
                if place is None:
                    if operation.name == "llvm.store":
                        raise _Unordered
                    continue
                earlier.append((place, writes))
                roots.add(place.root)
            elif place is not None:
                if any((writes or wrote) and place.meets(other) for other, wrote in earlier):
                    raise _Unordered
            elif any(_maker(operand) in placed for operand in _all_operands(operation)):
                raise _Unordered
        for operation in found:
            if operation not in placed and _place(operation) is None and _touches(operation, roots):
                raise _Unordered


def _all_operands(operation: Any) -> Iterator[Any]:
    yield from operation.operands
    for child in walk(operation):
        yield from child.operands


def _touches(operation: Any, roots: set[Any]) -> bool:
    """Whether an operation uses one of the arrays otherwise than to make an address of a known element."""
    if operation.name == "llvm.getelementptr" and element_indices(operation) != [None]:
        return False
    return any(_root(operand)[0] in roots for operand in _all_operands(operation))


def _maker(value: Any) -> Any:
    owner = value.owner
    return owner.operation if hasattr(owner, "operation") else None


def _place(operation: Any) -> _Place | None:
    """What a load or store accesses, if it is a known element of an array of the thread."""
    if operation.name not in ("llvm.load", "llvm.store") or inner(operation):
        return None
    value = operation.results[0] if operation.name == "llvm.load" else operation.operands[0]
    root, start = _root(operation.operands[len(operation.operands) - 1])
    return None if root is None else _Place(root, start, start + element_size(str(value.type)))


def _root(pointer: Any) -> tuple[Any, int]:
    """The array that an address is in, and how many bytes after its start; None for other addresses."""
    start = 0
    maker = _maker(pointer)
    while maker is not None and maker.name == "llvm.getelementptr":
        indices = element_indices(maker)
        if len(indices) != 1 or indices[0] is None:
            return None, 0
        start += indices[0] * element_size(str(maker.attributes["elem_type"].value))
        maker = _maker(maker.operands[0])
    return (maker.results[0], start) if maker is not None and maker.name == "llvm.alloca" else (None, 0)
