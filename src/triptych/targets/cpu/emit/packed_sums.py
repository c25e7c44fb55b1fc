"""Packed accumulators: sums whose operands lie side by side in memory stay so, lane by lane, as a load finds them.

Input: the sequences of a block function. Output: which elements of an array of sums form a bundle, and what is added to
each. A thread that has four neighbouring columns of a product loads a vector of four, and the lanes' vectors lie one
after the other: four vectors of the machine. To have one vector over the lanes for each column they would be shuffled
for every row and every k. When the other factor is the same number in all lanes, nothing has to be: four sums that
multiply by the four are kept as the four lie in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from triptych.ir.handles import Operation, Value
from triptych.ir.types import byte_size, count_and_element, element_type
from triptych.kernel_ir.analysis.addresses import INDEXING, private_place
from triptych.kernel_ir.analysis.uniformity import UniformityAnalysis
from triptych.kernel_ir.dialects.kernel_operations import defining_op, is_ordered, is_pure, writes
from triptych.support.dataclass import dataclass
from triptych.targets.cpu.emit.fma_grouping import SUM, TOGETHER, ForwardedLoad, Groups, groups_of
from triptych.targets.cpu.emit.values import PrivateArray, users


@dataclass(frozen=True, slots=True)
class LoadedElement:
    """An element of a vector that every thread has loaded."""

    vector: Value
    element: int


_Terms: TypeAlias = tuple[tuple[LoadedElement, Value], ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an element of an array is: in the bundle that begins at `first`, beside `count - 1` others."""

    first: int
    number: int
    count: int


@dataclass(frozen=True, slots=True)
class Bundle:
    """Sums of one array that are kept side by side."""

    array: Value
    elements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PackedSum:
    """What is added to a bundle: products of a number that is the same in all lanes and of a vector of each lane."""

    bundle: Bundle
    like: Operation
    """One of the sums as it was."""
    terms: _Terms


@dataclass(frozen=True, slots=True)
class PackedGroup:
    """Bundles that fit into registers together."""

    sums: Sequence[PackedSum]
    again: frozenset[Operation]
    """Loads of factors that are best done by each group: all factors at once are more than there are registers."""


class PackedSums:
    """The order of a kernel's sums, and the bundles of those arrays whose sums are packed wherever they grow."""

    def __init__(
        self,
        sequences: Sequence[Sequence[Operation]],
        analysis: UniformityAnalysis,
        arrays: Mapping[Value, PrivateArray],
        *,
        whole_warps: bool,
    ) -> None:
        self.slots: dict[Value, dict[int, Slot]] = {}
        """By array and element. In whole warps only: a vector of lanes that are no threads is not loaded as one."""
        self._groups = {id(sequence): groups for sequence in sequences if (groups := groups_of(sequence)) is not None}
        self._packed: dict[int, list[PackedSum]] = {}
        refused: set[Value] = set()
        for sequence in sequences if whole_warps else ():
            groups = self._groups.get(id(sequence))
            sums = None if groups is None else _packed(groups, analysis)
            if sums is None:
                refused.update(_summed(sequence))
            else:
                self._packed[id(sequence)] = sums
        self._accept(arrays, refused)

    def _accept(self, arrays: Mapping[Value, PrivateArray], refused: set[Value]) -> None:
        wanted: defaultdict[Value, dict[tuple[int, ...], Bundle]] = defaultdict(dict)
        for sums in self._packed.values():
            for each in sums:
                wanted[each.bundle.array][each.bundle.elements] = each.bundle
        for array, bundles in wanted.items():
            slots = _slots(bundles.values(), arrays[array])
            if array not in refused and slots is not None and _is_accessed_by_element(arrays[array]):
                self.slots[array] = slots
        self._packed = {
            sequence: sums
            for sequence, sums in self._packed.items()
            if all(each.bundle.array in self.slots for each in sums)
        }
        self._taken = {load for sequence in self._packed for load in self._groups[sequence].taken}
        self._unread = {root for root in arrays if self._is_unread(root)} if self._packed else set()
        """Arrays of factors of which nobody needs what is stored."""

    def _is_unread(self, address: Value) -> bool:
        for user, number in users(address):
            if user.name == INDEXING and number == 0:
                if not self._is_unread(user.results[0]):
                    return False
            elif not (user in self._taken or (user.name == "llvm.store" and number == 1)):
                return False
        return True

    def order(self, sequence: Sequence[Operation]) -> Sequence[Operation | ForwardedLoad | PackedGroup]:
        """A sequence in the order in which it is to be run, its sums packed, in groups, or as they are."""
        groups, sums = self._groups.get(id(sequence)), self._packed.get(id(sequence))
        if groups is None:
            return sequence
        if sums is None:
            return groups.order()
        together = max(1, TOGETHER // len(sums[0].bundle.elements))
        again = _loaded_again(groups, sums)
        packed = [PackedGroup(sums[i : i + together], again) for i in range(0, len(sums), together)]
        return [*self._needed(groups.others, again), *packed, *groups.rest]

    def _needed(self, others: Sequence[Operation], again: frozenset[Operation]) -> list[Operation]:
        """Without what only fills arrays of factors that nobody reads now."""
        left_out: set[Operation] = set()
        for operation in reversed(others):
            if operation.name == "llvm.store":
                place = private_place(operation.operands[1])
                is_needed = place is None or place.array not in self._unread
            else:
                goes = operation in again or (len(operation.results) > 0 and is_pure(operation))
                is_needed = not goes or not all(
                    user in self._taken or (user in left_out and user not in again)
                    for result in operation.results
                    for user, _ in users(result)
                )
            if not is_needed:
                left_out.add(operation)
        return [operation for operation in others if operation not in left_out]


def _summed(sequence: Sequence[Operation]) -> Iterator[Value]:
    """The arrays that sums are stored to."""
    for operation in sequence:
        if operation.name == "llvm.store":
            made_by, place = defining_op(operation.operands[0]), private_place(operation.operands[1])
            if made_by is not None and made_by.name == SUM and place is not None:
                yield place.array


# one sequence --------------------------------------------------------------------------------------------------------
def _packed(groups: Groups, analysis: UniformityAnalysis) -> list[PackedSum] | None:
    """All sums of a sequence in bundles; None if one does not belong to any."""
    bundles: defaultdict[tuple[Value, _Terms], dict[int, tuple[int, Operation]]] = defaultdict(dict)
    for members in groups.members:
        for (array, element), chain in _chains(members).items():
            terms = [term for sum_ in chain if (term := _term(sum_, groups, analysis)) is not None]
            numbers = {number for _, _, number in terms}
            if len(terms) < len(chain) or len(numbers) != 1 or not _is_chain(chain, (array, element)):
                return None
            slots = bundles[array, tuple((factor, vector) for factor, vector, _ in terms)]
            if slots.setdefault(numbers.pop(), (element, chain[0])) != (element, chain[0]):
                return None
    found = []
    for (array, added), slots in bundles.items():
        count, _ = count_and_element(added[0][1].type) or (1, "")
        if sorted(slots) != list(range(count)):
            return None
        bundle = Bundle(array, tuple(slots[number][0] for number in range(count)))
        found.append(PackedSum(bundle, slots[0][1], added))
    return found


def _chains(members: Sequence[Operation | ForwardedLoad]) -> dict[tuple[Value, int], list[Operation]]:
    """The sums of a group by the array and the element where they begin, in their order."""
    found: dict[tuple[Value, int], list[Operation]] = {}
    begun: dict[Operation, tuple[Value, int]] = {}
    for sum_ in members:
        if isinstance(sum_, ForwardedLoad) or sum_.name != SUM:
            continue
        before = defining_op(sum_.operands[2])
        assert before is not None, "a sum adds to what an operation gave"
        place = begun[before] if before in begun else _element(before.operands[0], sum_)
        begun[sum_] = place
        found.setdefault(place, []).append(sum_)
    return found


def _element(address: Value, sum_: Operation) -> tuple[Value, int]:
    place = private_place(address)
    assert place is not None, "sums are in arrays of their thread"
    return place.array, place.offset // byte_size(sum_.results[0].type)


def _is_chain(chain: Sequence[Operation], place: tuple[Value, int]) -> bool:
    """Whether each sum goes nowhere but to the next one, by itself or by way of its place, and the last one there."""
    for sum_, after in zip(chain, (*chain[1:], None), strict=True):
        uses = users(sum_.results[0])
        if len(uses) != 1:
            return False
        ((user, number),) = uses
        if user.name == "llvm.store":
            if number != 0 or _element(user.operands[1], sum_) != place:
                return False
            if after is not None and not _reads_next(user, after):
                return False
        elif user != after or number != 2:
            return False
    return True


def _reads_next(store: Operation, after: Operation) -> bool:
    """Whether a sum begins with what the store before it has left, which nobody else reads."""
    load = defining_op(after.operands[2])
    return (
        load is not None
        and load.name == "llvm.load"
        and len(users(load.results[0])) == 1
        and store.is_before_in_block(load)
    )


def _term(sum_: Operation, groups: Groups, analysis: UniformityAnalysis) -> tuple[LoadedElement, Value, int] | None:
    """The uniform factor of a sum, the vector of the other one, and the element of that."""
    factors = [_factor(operand, groups) for operand in list(sum_.operands)[:2]]
    for same, other in (factors, factors[::-1]):
        if same is None or other is None:
            continue
        if analysis.at(same.vector).uniform and _lies_packed(other.vector, analysis):
            return same, other.vector, other.element
    return None


def _factor(operand: Value, groups: Groups) -> LoadedElement | None:
    """Which element of which vector a factor is, through what only puts vectors together."""
    load = defining_op(operand)
    if load is None or load not in groups.taken:
        return None
    vector, element = groups.taken[load].value, groups.taken[load].element
    while (made_by := defining_op(vector)) is not None and made_by.name == "vector.shuffle":
        element = list(made_by.attributes["mask"])[element]
        left, right = made_by.operands
        count, _ = count_and_element(left.type) or (1, "")
        vector, element = (left, element) if element < count else (right, element - count)
    return LoadedElement(vector, element) if count_and_element(vector.type) else None


def _lies_packed(vector: Value, analysis: UniformityAnalysis) -> bool:
    """Whether the vectors of the lanes lie one after the other where they are loaded."""
    load = defining_op(vector)
    if load is None or load.name != "llvm.load" or private_place(load.operands[0]) is not None:
        return False
    return analysis.at(load.operands[0]).has_stride(byte_size(vector.type))


def _loaded_again(groups: Groups, sums: Sequence[PackedSum]) -> frozenset[Operation]:
    """The loads of factors behind which nothing is stored that they could read."""
    factors = {value for sum_ in sums for factor, vector in sum_.terms for value in (factor.vector, vector)}
    loads = {load for value in factors if (load := defining_op(value)) is not None and load.name == "llvm.load"}
    found = set()
    for operation in reversed(groups.others):
        if operation in loads and not is_ordered(operation):
            found.add(operation)
        elif writes(operation) and not (operation.name == "llvm.store" and private_place(operation.operands[1])):
            break
    return frozenset(found)


# arrays -------------------------------------------------------------------------------------------------------------
def _slots(bundles: Iterable[Bundle], array: PrivateArray) -> dict[int, Slot] | None:
    """The place of each element of an array; None if one would be in no bundle, or in two."""
    found: dict[int, Slot] = {}
    for bundle in bundles:
        first = len(found)
        for number, element in enumerate(bundle.elements):
            if element in found:
                return None
            found[element] = Slot(first, number, len(bundle.elements))
    return found if len(found) == array.count else None


def _is_accessed_by_element(array: PrivateArray) -> bool:
    """Whether every access is one of elements that are known now."""
    return array.by_element and _accesses_fit(array.operation.results[0], byte_size(array.element))


def _accesses_fit(address: Value, size: int) -> bool:
    for user, number in users(address):
        if user.name in ("llvm.load", "llvm.store"):
            value = user.results[0] if user.name == "llvm.load" else user.operands[0]
            if private_place(address) is None or byte_size(element_type(value.type)) != size:
                return False
        elif user.name != INDEXING or number != 0 or not _accesses_fit(user.results[0], size):
            return False
    return True
