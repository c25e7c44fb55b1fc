"""Address analysis: addresses as sums, so that equal sums but for a number are a known distance apart.

Input: the value that a load or a store has as its address. Output: the memory that it begins in, what is added to it at
run time, and the bytes that are known now. How one address differs between lanes is `Lanes` of its value
(`triptych.kernel_ir.analysis.uniformity`), which reads the same steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

from triptych.ir.handles import Operation, Value
from triptych.ir.types import byte_size, is_struct
from triptych.kernel_ir.analysis.signed_extensions import keeps_distances
from triptych.kernel_ir.dialects.kernel_operations import constant_of, defining_op, element_indices, is_pure, pointee

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
    element, indices = pointee(operation), element_indices(operation)
    if len(indices) != 1 or is_struct(element):
        return None
    index = operation.operands[1] if indices[0] is None else indices[0]
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
