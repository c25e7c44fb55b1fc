"""Address analysis: addresses as sums, so that equal sums but for a number are a known distance apart.

Input: the value that a load or a store has as its address. Output: the memory that it begins in, what is added to it at
run time, and the bytes that are known now. How one address differs between lanes is `Lanes` of its value
(`triptych.kernel_ir.analysis.uniformity`), which reads the same steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard, TypeVar

from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.ir.types import byte_size, int_width, is_struct
from triptych.kernel_ir.dialects.kernel_operations import (
    body,
    constant_of,
    defining_op,
    is_pure,
    only_index,
    operations,
    owner_op,
    pointee,
    producer,
)
from triptych.support.dataclass import dataclass

SIGNED_EXTENSIONS = frozenset({"arith.extsi", "arith.index_cast"})
_MARK = "triptych.signed"
_INDEX_BITS = 32


def mark_signed_extensions(module: Module) -> None:
    """Mark all of them; the mark stays on an operation that takes the place of one."""
    mark = Builder(module.context).attribute("unit")
    for extension in operations_named(module, *SIGNED_EXTENSIONS):
        extension.attributes[_MARK] = mark


def keeps_distances(extension: Operation) -> bool:
    """Whether an address counts the extended number as if the sum that it is had been extended term by term.

    A signed number of 32 bits that overflows would be an address far below the memory. Unsigned and narrower ones wrap
    around inside of it.
    """
    if extension.name not in SIGNED_EXTENSIONS and _MARK not in extension.attributes:
        return False
    old, new = (int_width(value.type) or 0 for value in (extension.operands[0], extension.results[0]))
    return _INDEX_BITS <= old < new


# Memoized dataflow: facts about values that follow from facts about their operands, without recursion.
Subject = TypeVar("Subject")
Fact = TypeVar("Fact")


def fact(
    value: Subject,
    known: dict[Subject, Fact],
    sources: Callable[[Subject], Iterable[Subject]],
    conclude: Callable[[Subject], Fact],
) -> Fact:
    """What is known of a value. `conclude` is called once for each value, when its sources are known."""
    pending = [value]
    while pending:
        found = pending[-1]
        unknown = [] if found in known else [source for source in sources(found) if source not in known]
        if unknown:
            pending += unknown
            continue
        pending.pop()
        if found not in known:
            known[found] = conclude(found)
    return known[value]


INDEXING = "llvm.getelementptr"
_MOST_STEPS = 256
"""Sums of sums are opened so often; what is left is a term as it is."""

Key = Any
"""Equal for values that are computed alike."""


@dataclass(frozen=True, slots=True)
class Step:
    """One `llvm.getelementptr`: an address, and `index` elements of `size` bytes after it."""

    base: Value
    index: Value | int
    """A number, or the value that a run computes."""
    size: int


def step(operation: Operation | None) -> Step | None:
    """What an operation adds to an address; None for other operations, and for parts of structs and arrays."""
    if operation is None or operation.name != INDEXING:
        return None
    element, index = pointee(operation), only_index(operation)
    if index is None or is_struct(element):
        return None
    return Step(operation.operands[0], index, byte_size(element))


def steps(address: Value) -> tuple[Value, list[Step]]:
    """The address that another begins with, and the steps from there, the last one first."""
    found = []
    while (made := step(defining_op(address))) is not None:
        found.append(made)
        address = made.base
    return address, found


def base(address: Value) -> Value:
    """Where the memory begins that an address lies in, however far behind and by whatever indices."""
    while (made := defining_op(address)) is not None and made.name == INDEXING:
        address = made.operands[0]
    return address


@dataclass(frozen=True, slots=True)
class Address:
    """`memory` and the sum of `terms` (what, times how many bytes) and `known` bytes."""

    memory: Key
    terms: frozenset[tuple[Key, int]]
    known: int


class AddressForms:
    """Answers for one kernel, and remembers: many addresses share most of their sums."""

    def __init__(self) -> None:
        self._keys: dict[Value, Key] = {}
        self._numbers: dict[Key, int] = {}

    def address(self, pointer: Value) -> Address:
        terms: Counter[Key] = Counter()
        known = 0
        if int_width(pointer.type):  # of tensor memory
            known = self._add(terms, pointer, 1)
            return Address(None, frozenset((key, n) for key, n in terms.items() if n), known)
        memory, added = steps(pointer)
        for each in added:
            if isinstance(each.index, int):
                known += each.index * each.size
            else:
                known += self._add(terms, each.index, each.size)
        return Address(self._key(memory), frozenset((key, n) for key, n in terms.items() if n), known)

    def _add(self, terms: Counter[Key], value: Value, times: int) -> int:
        """Add a number, so many times, to the terms; what it adds that is known now is given back."""
        known = 0
        pending = [(value, times)]
        for _ in range(_MOST_STEPS):
            if not pending:
                break
            value, times = pending.pop()
            constant = constant_of(value)
            parts = _parts(value)
            if constant is not None:
                known += constant * times
            elif parts:
                pending += [(part, times * factor) for part, factor in parts]
            else:
                terms[self._key(value)] += times
        for value, times in pending:
            terms[self._key(value)] += times
        return known

    def _key(self, value: Value) -> Key:
        """A number for each way in which a value is computed."""
        return fact(value, self._keys, _sources, self._number)

    def _number(self, value: Value) -> Key:
        operation = defining_op(value)
        form: Key = ("value", len(self._keys))
        if _is_computed(operation):
            operands = tuple(self._keys[operand] for operand in operation.operands)
            attributes = tuple((name, str(operation.attributes[name])) for name in operation.attributes)
            form = (operation.name, attributes, value.type, operands)
        return self._numbers.setdefault(form, len(self._numbers))


def _is_computed(operation: Operation | None) -> TypeGuard[Operation]:
    """Whether equal operands give equal results."""
    return operation is not None and is_pure(operation)


def _sources(value: Value) -> list[Value]:
    operation = defining_op(value)
    return list(operation.operands) if _is_computed(operation) else []


def _parts(value: Value) -> list[tuple[Value, int]]:
    """The numbers that a number is the sum of, and how many times each."""
    operation = defining_op(value)
    if operation is None:
        return []
    match operation.name:
        case "arith.addi":
            return [(operand, 1) for operand in operation.operands]
        case "arith.subi":
            return [(operation.operands[0], 1), (operation.operands[1], -1)]
        case "arith.muli":
            one, other = operation.operands
            for number, factor in ((one, constant_of(other)), (other, constant_of(one))):
                if factor is not None:
                    return [(number, factor)]
        case str() if keeps_distances(operation):
            return [(operation.operands[0], 1)]
    return []


@dataclass(frozen=True, slots=True)
class PrivatePlace:
    """An address `offset` bytes after the start of an array that every thread has for itself."""

    array: Value
    offset: int

    @property
    def element_bytes(self) -> int:
        """Of an element of the array."""
        return byte_size(pointee(producer(self.array)))

    @property
    def bytes_left(self) -> int:
        """From the address to the end of the array."""
        count = int(producer(producer(self.array).operands[0]).attributes["value"].value)
        return count * self.element_bytes - self.offset


def is_private(operation: Operation | None) -> bool:
    """Whether an operation makes an array that every thread has for itself, or an address in one."""
    return operation is not None and len(operation.results) == 1 and is_array(base(operation.results[0]))


def private_place(address: Value) -> PrivatePlace | None:
    """Where an address lies that was made from an array by offsets which are all known."""
    array, found = steps(address)
    offsets = [step.index * step.size for step in found if isinstance(step.index, int)]
    return PrivatePlace(array, sum(offsets)) if is_array(array) and len(offsets) == len(found) else None


def is_array(value: Value) -> bool:
    """Whether a value is the start of an array that every thread has for itself."""
    made = defining_op(value)
    return made is not None and made.name == "llvm.alloca"


def is_in_arrays(address: Value) -> bool:
    """Whether an address can only lie in arrays that every thread has for itself, also where branches and loops pass
    on which of them."""
    pending, seen = [base(address)], set[Value]()
    while pending:
        value = pending.pop()
        if value in seen or is_array(value):
            continue
        seen.add(value)
        found = sources(value)
        if not found:
            return False
        pending += map(base, found)
    return True


def sources(value: Value) -> list[Value]:
    """The values one of which a value is; none where that is not known."""
    made = defining_op(value)
    if made is None:
        return _entering(value, owner_op(value))
    if made.name == "arith.select":
        return list(made.operands)[1:]
    if made.name not in ("scf.if", "scf.for", "scf.while"):
        return []
    number = list(made.results).index(value)
    if made.name == "scf.if":
        return [_end(made, side).operands[number] for side in range(2)]
    if made.name == "scf.while":
        return [_end(made, 0).operands[number + 1]]
    return [made.operands[number + 3], _end(made, 0).operands[number]]


def _entering(argument: Value, loop: Operation) -> list[Value]:
    """What a block of a loop is entered with."""
    if loop.name == "scf.for":
        number = list(body(loop).arguments).index(argument) - 1
        return [loop.operands[number + 3], _end(loop, 0).operands[number]] if number >= 0 else []
    if loop.name != "scf.while":
        return []
    first, second = (list(body(loop, region).arguments) for region in range(2))
    if argument in second:
        return [_end(loop, 0).operands[second.index(argument) + 1]]
    return [loop.operands[first.index(argument)], _end(loop, 1).operands[first.index(argument)]]


def _end(operation: Operation, region: int) -> Operation:
    return operations(body(operation, region))[-1]
