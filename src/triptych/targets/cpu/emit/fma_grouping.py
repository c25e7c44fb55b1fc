"""FMA grouping: a few accumulators at a time over all their terms, so that these few stay in registers.

Input: a sequence of operations that a warp runs in order. Output: the same operations. A product of fragments
by single numbers adds one term to each of 64 sums, then the next to each: with vectors for numbers that is twice what
a machine has of registers, and every addition would load and store its sum. Sums touch only arrays of their thread, so
they may come after everything else, group by group. What they multiply is taken from what was stored, so that the next
factors may be stored before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from triptych.ir.handles import Operation, Value
from triptych.ir.types import byte_size, element_type
from triptych.kernel_ir.analysis.addresses import INDEXING, base, private_place
from triptych.kernel_ir.dialects.kernel_operations import all_operands, defining_op, producer
from triptych.kernel_ir.dialects.tile import MMA, MMA_BLOCK_SCALE
from triptych.support.dataclass import dataclass

SUM = "math.fma"
TOGETHER = 16
"""Sums of a group: half of the registers of AVX-512, which leaves room for what is multiplied."""
_MANY = 2 * TOGETHER


@dataclass(frozen=True, slots=True)
class _Place:
    """A range of an array of the thread, in bytes."""

    array: Value
    bytes: range


@dataclass(frozen=True, slots=True)
class ForwardedLoad:
    """A load whose value is known: an element of what was stored there."""

    load: Operation
    value: Value
    element: int


class _Unordered(Exception):
    """Something needs the order as it is."""


def groups_of(found: Sequence[Operation]) -> Groups | None:
    """The sums of a sequence; None if they are few or need the order as it is."""
    sums = {operation for operation in found if operation.name == SUM}
    if len(sums) < _MANY:
        return None
    end = 1 + max(i for i, operation in enumerate(found) if operation in sums or _stores_one(operation, sums))
    try:
        return Groups(found[:end], found[end:], sums)
    except _Unordered:
        return None


def _stores_one(operation: Operation, sums: set[Operation]) -> bool:
    return operation.name == "llvm.store" and defining_op(operation.operands[0]) in sums


class Groups:
    """Which operations belong to which group of sums; the others come first, the rest of the sequence last."""

    def __init__(self, found: Sequence[Operation], rest: Sequence[Operation], sums: set[Operation]) -> None:
        self.rest = rest
        self._sums = sums
        self._places = _Places()
        self._numbers: dict[tuple[Value, int], int] = {}
        """The number of each place where a sum begins, in the order in which they come."""
        placed = {operation: self._group(operation) for operation in found if self._is_of_sums(operation)}
        self.others = [operation for operation in found if operation not in placed]
        self.taken = dict(self._taken(found, placed))
        """The loads of sums whose value is known, by their operation."""
        accesses = {operation: n for operation, n in placed.items() if operation not in self.taken}
        self._require_independence(found, accesses)
        self.members: list[list[Operation | ForwardedLoad]] = [[] for _ in range(max(placed.values()) + 1)]
        for operation in found:
            if operation in placed:
                self.members[placed[operation]].append(self.taken.get(operation, operation))

    def order(self) -> Sequence[Operation | ForwardedLoad]:
        """The sequence in the order in which it is to be run; some loads are `ForwardedLoad`."""
        return [*self.others, *(operation for members in self.members for operation in members), *self.rest]

    def _is_of_sums(self, operation: Operation) -> bool:
        if operation in self._sums:
            return True
        if operation.name == "llvm.load":
            users = [use.owner.operation for use in operation.results[0].uses]
            return self._places.of(operation) is not None and bool(users) and all(user in self._sums for user in users)
        return _stores_one(operation, self._sums)

    def _group(self, operation: Operation) -> int:
        if operation.name == "llvm.load":
            return min(self._number(use.owner.operation) for use in operation.results[0].uses) // TOGETHER
        return self._number(operation if operation.name == SUM else producer(operation.operands[0])) // TOGETHER

    def _number(self, sum_: Operation) -> int:
        """The number of a chain of sums: that of the place where it begins."""
        while (before := defining_op(sum_.operands[2])) is not None and before in self._sums:
            sum_ = before
        begin = self._places.of(before) if before is not None and before.name == "llvm.load" else None
        if begin is None:
            raise _Unordered
        return self._numbers.setdefault((begin.array, begin.bytes.start), len(self._numbers))

    def _taken(
        self, found: Sequence[Operation], placed: dict[Operation, int]
    ) -> Iterator[tuple[Operation, ForwardedLoad]]:
        """The loads of sums that read what an operation of the others has stored before."""
        stored = _Stored()
        for operation in found:
            place = self._places.of(operation)
            if place is None:
                stored.forget(_touched(operation))
            elif operation.name == "llvm.store":
                stored.overwrite(place)
                if operation not in placed:
                    stored.keep(place, operation.operands[0])
            elif operation in placed and (known := stored.at(place)) is not None:
                whole, value = known
                if element_type(value.type) == operation.results[0].type:
                    element = (place.bytes.start - whole.bytes.start) // len(place.bytes)
                    yield operation, ForwardedLoad(operation, value, element)

    def _require_independence(self, found: Sequence[Operation], placed: dict[Operation, int]) -> None:
        """What moves behind the others must not have been before any of them for a reason."""
        accessed: defaultdict[Value, set[int]] = defaultdict(set)
        written: defaultdict[Value, set[int]] = defaultdict(set)
        for operation in found:
            place = self._places.of(operation)
            writes = operation.name == "llvm.store"
            if operation in placed:
                if place is not None:
                    accessed[place.array].update(place.bytes)
                    written[place.array].update(place.bytes if writes else ())
                elif writes:
                    raise _Unordered
            elif place is not None:
                earlier = accessed if writes else written
                if place.array in earlier and not earlier[place.array].isdisjoint(place.bytes):
                    raise _Unordered
            elif any(defining_op(operand) in placed for operand in all_operands(operation)):
                raise _Unordered
        for operation in found:
            if self._places.of(operation) is None and not _touched(operation).isdisjoint(accessed):
                raise _Unordered


class _Stored:
    """What stores have left in the arrays, by array and byte: a later store over a part of it ends all of it."""

    def __init__(self) -> None:
        self._arrays: defaultdict[Value, dict[int, tuple[_Place, Value]]] = defaultdict(dict)

    def keep(self, place: _Place, value: Value) -> None:
        self._arrays[place.array].update(dict.fromkeys(place.bytes, (place, value)))

    def overwrite(self, place: _Place) -> None:
        known = self._arrays[place.array]
        for byte in place.bytes:
            if byte in known:
                for gone in known[byte][0].bytes:
                    del known[gone]

    def forget(self, arrays: set[Value]) -> None:
        for array in arrays:
            self._arrays.pop(array, None)

    def at(self, place: _Place) -> tuple[_Place, Value] | None:
        """The place and the value of the store that has left all bytes of a place."""
        found = self._arrays[place.array].get(place.bytes.start)
        return found if found is not None and place.bytes.stop <= found[0].bytes.stop else None


class _Places:
    """What loads and stores access. Arrays are left out whose addresses go elsewhere: they have other names there."""

    def __init__(self) -> None:
        self._found: dict[Operation, _Place | None] = {}
        self._escaping: dict[Value, bool] = {}

    def of(self, operation: Operation) -> _Place | None:
        """The known element of an array of the thread that a load or store accesses."""
        if operation not in self._found:
            self._found[operation] = self._place(operation)
        return self._found[operation]

    def _place(self, operation: Operation) -> _Place | None:
        if operation.name not in ("llvm.load", "llvm.store"):
            return None
        *stored, address = operation.operands
        place = private_place(address)
        if place is None or self._escapes(place.array):
            return None
        value = stored[0] if stored else operation.results[0]
        return _Place(place.array, range(place.offset, place.offset + byte_size(value.type)))

    def _escapes(self, array: Value) -> bool:
        if array not in self._escaping:
            self._escaping[array] = _goes_elsewhere(array)
        return self._escaping[array]


_READERS = frozenset({"llvm.load", MMA, MMA_BLOCK_SCALE})


def _goes_elsewhere(address: Value) -> bool:
    """Whether an address is used otherwise than to access memory right there."""
    for use in address.uses:
        user = use.owner.operation
        if user.name == INDEXING:
            if _goes_elsewhere(user.results[0]):
                return True
        elif user.name not in _READERS and not (user.name == "llvm.store" and use.operand_number == 1):
            return True
    return False


def _touched(operation: Operation) -> set[Value]:
    """The arrays, among other values, that an operation uses otherwise than to make an address."""
    return set() if operation.name == INDEXING else {base(operand) for operand in all_operands(operation)}
