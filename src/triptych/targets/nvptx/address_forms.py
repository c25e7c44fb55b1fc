"""Addresses of a traced kernel as sums: equal sums but for a number are a known distance apart.

Input: the value that a load or a store has as its address. Output: the memory that it begins in, what is added to it at
run time, and the bytes that are known now. Numbers that are extended are taken to be so after their sum: for telling a
distance that is right, because a sum that overflows is no address.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from triptych.ir import bindings
from triptych.targets.nvptx.memory_types import bits_of

_EXTENSIONS = frozenset({"arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui"})
_DYNAMIC = -(2**31)

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
        self._keys: dict[Any, Key] = {}
        self._numbers: dict[Key, int] = {}

    def address(self, pointer: Any) -> Address:
        terms: Counter[Key] = Counter()
        known = 0
        maker = _maker(pointer)
        while maker is not None and maker.name == "llvm.getelementptr":
            size = bits_of(str(maker.attributes["elem_type"].value)) // 8
            if not size:
                break
            (position,) = bindings.mlir().DenseI32ArrayAttr(maker.attributes["rawConstantIndices"])
            if position == _DYNAMIC:
                known += self._add(terms, maker.operands[1], size)
            else:
                known += position * size
            pointer = maker.operands[0]
            maker = _maker(pointer)
        return Address(self._key(pointer), frozenset((key, n) for key, n in terms.items() if n), known)

    def _add(self, terms: Counter[Key], value: Any, times: int) -> int:
        """Add a number, so many times, to the terms; what it adds that is known now is given back."""
        maker = _maker(value)
        if maker is None:
            terms[self._key(value)] += times
            return 0
        constant = _constant(maker)
        if constant is not None:
            return constant * times
        operands = list(maker.operands)
        if maker.name in _EXTENSIONS:
            return self._add(terms, operands[0], times)
        if maker.name == "arith.addi":
            return sum(self._add(terms, operand, times) for operand in operands)
        if maker.name == "arith.subi":
            return self._add(terms, operands[0], times) + self._add(terms, operands[1], -times)
        if maker.name == "arith.muli":
            for one, other in (operands, operands[::-1]):
                factor = _constant(_maker(other))
                if factor is not None:
                    return self._add(terms, one, times * factor)
        terms[self._key(value)] += times
        return 0

    def _key(self, value: Any) -> Key:
        """A number for each way in which a value is computed."""
        if value not in self._keys:
            maker = _maker(value)
            if maker is None or maker.regions or "load" in maker.name:
                form: Key = ("value", len(self._keys))
            else:
                operands = tuple(self._key(operand) for operand in maker.operands)
                form = (maker.name, str(maker.attributes), str(value.type), operands)
            self._keys[value] = self._numbers.setdefault(form, len(self._numbers))
        return self._keys[value]


def _maker(value: Any) -> Any:
    """The operation that computes a value; None for an argument of a block."""
    return None if isinstance(value.owner, bindings.mlir().Block) else value.owner.operation


def _constant(maker: Any) -> int | None:
    if maker is None or maker.name != "arith.constant":
        return None
    value = maker.attributes["value"]
    return int(value.value) if isinstance(value, bindings.mlir().IntegerAttr) else None
