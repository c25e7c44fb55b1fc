"""Addresses of a traced kernel as sums: equal sums but for a number are a known distance apart.

Input: the value that a load or a store has as its address. Output: the memory that it begins in, what is added to it at
run time, and the bytes that are known now. Signed numbers of 32 bits that are extended are taken to be so after their
sum: one that overflows would be an address far below the memory. Unsigned and narrower ones wrap around inside of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeGuard

from triptych.ir.handles import Operation, Value
from triptych.simt.bottom_up import fact
from triptych.simt.operations import constant_of, defining_op, element_indices, is_pure
from triptych.simt.signed_extensions import SIGNED_EXTENSIONS
from triptych.targets.nvptx.analysis.memory_types import bits_of

_INDEX_BITS = 32
_MOST_STEPS = 256
"""Sums of sums are opened so often; what is left is a term as it is."""

Key = Any
"""Equal for values that are computed alike."""


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
        operation = defining_op(pointer)
        while operation is not None and operation.name == "llvm.getelementptr":
            size = bits_of(operation.attributes["elem_type"].value) // 8
            if not size:
                break
            (position,) = element_indices(operation)
            known += self._add(terms, operation.operands[1], size) if position is None else position * size
            pointer = operation.operands[0]
            operation = defining_op(pointer)
        return Address(self._key(pointer), frozenset((key, n) for key, n in terms.items() if n), known)

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
        case name if name in SIGNED_EXTENSIONS and bits_of(operation.operands[0].type) >= _INDEX_BITS:
            return [(operation.operands[0], 1)]
    return []
