"""Accumulator tiles: elements of private arrays side by side in every lane (`packed_sums`), and single elements."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from triptych.ir.handles import Type, Value
from triptych.ir.types import byte_size, count_and_element
from triptych.kernel_ir.analysis.addresses import step
from triptych.kernel_ir.dialects.kernel_operations import access_alignment, defining_op, producer

if TYPE_CHECKING:
    from triptych.targets.cpu.emit.packed_sums import PackedGroup, PackedSum, Slot
    from triptych.targets.cpu.emit.warp import Warp


def add_group(warp: Warp, group: PackedGroup) -> None:
    """All terms of all sums of a group, a term of each at a time: they stay in registers meanwhile."""
    code, (some, *_) = warp.code, group.sums
    element = some.like.results[0].type
    kind, alignment = _kind(warp, element, len(some.bundle.elements)), _alignment(warp, element)
    attributes = {name: some.like.attributes[name] for name in some.like.attributes}
    addresses = [_bundle(warp, sum_) for sum_ in group.sums]
    values = [code.load(address, kind, alignment) for address in addresses]
    factors = _Factors(warp, group)
    for terms in zip_longest(*(sum_.terms for sum_ in group.sums)):
        for i, (factor, vector) in ((i, term) for i, term in enumerate(terms) if term is not None):
            one = code.extract(factors.uniform(factor.vector), factor.element, element)
            same = code.value("vector.broadcast", (one,), kind)
            values[i] = code.value(some.like.name, (same, factors.packed(vector), values[i]), kind, attributes)
    for value, address in zip(values, addresses, strict=True):
        code.store(value, address, alignment)


class _Factors:
    """What a group multiplies, loaded by it where that can be: from addresses that LLVM does not know to be others'.

    It would load once for all groups, and keep in memory what it has loaded.
    """

    def __init__(self, warp: Warp, group: PackedGroup) -> None:
        self._warp = warp
        self._again = group.again
        self._loaded: dict[Value, Value] = {}
        self._roots: dict[Value, Value] = {}

    def uniform(self, vector: Value) -> Value:
        if producer(vector) not in self._again:
            return self._warp.scalar(vector)
        return self._load(vector, vector.type)

    def packed(self, vector: Value) -> Value:
        if producer(vector) not in self._again:
            return self._warp.packed(vector)
        count, element = count_and_element(vector.type) or (1, vector.type)
        return self._load(vector, _kind(self._warp, element, count))

    def _load(self, vector: Value, kind: Type) -> Value:
        if vector not in self._loaded:
            load, code = producer(vector), self._warp.code
            root, offset = _constant_offset(load.operands[0])
            if root not in self._roots:
                same = code.value("llvm.intr.launder.invariant.group", (self._warp.scalar(root),), "!llvm.ptr")
                self._roots[root] = same
            address = code.offset(self._roots[root], offset, "i8")
            self._loaded[vector] = code.load(address, kind, access_alignment(load, vector.type))
        return self._loaded[vector]


def _constant_offset(address: Value) -> tuple[Value, int]:
    """An address as another one and the bytes between them that are known now."""
    bytes_between = 0
    while (found := step(defining_op(address))) is not None and isinstance(found.index, int):
        bytes_between += found.index * found.size
        address = found.base
    return address, bytes_between


def _bundle(warp: Warp, sum_: PackedSum) -> Value:
    bundle = sum_.bundle
    slot = warp.arrays.slot(bundle.array, bundle.elements[0])
    assert slot is not None, "elements of a bundle have slots"
    return bundle_address(warp, bundle.array, slot)


def bundle_address(warp: Warp, root: Value, slot: Slot) -> Value:
    return warp.arrays.row(warp, root, slot.first)


def load_from_bundle(warp: Warp, root: Value, slot: Slot, element: Type) -> Value:
    code = warp.code
    whole = code.load(bundle_address(warp, root, slot), _kind(warp, element, slot.count), _alignment(warp, element))
    return code.shuffle(whole, whole, [lane * slot.count + slot.number for lane in range(code.width)], element)


def store_to_bundle(warp: Warp, root: Value, slot: Slot, row: Value, element: Type) -> None:
    """One element of each lane, between those that stay."""
    code, kind = warp.code, _kind(warp, element, slot.count)
    address, alignment = bundle_address(warp, root, slot), _alignment(warp, element)
    every = [lane for lane in range(code.width) for _ in range(slot.count)]
    chosen = code.dense(
        ", ".join(
            "true" if number == slot.number else "false" for _ in range(code.width) for number in range(slot.count)
        ),
        code.vector(len(every), "i1"),
    )
    if warp.mask is not None:
        active = code.shuffle(warp.mask, warp.mask, every, "i1")
        chosen = code.value("arith.andi", (chosen, active), code.vector(len(every), "i1"))
    kept = code.load(address, kind, alignment)
    code.store(code.select(chosen, code.shuffle(row, row, every, element), kept, kind), address, alignment)


def _kind(warp: Warp, element: Type, count: int) -> Type:
    return warp.code.vector(count * warp.code.width, element)


def _alignment(warp: Warp, element: Type) -> int:
    return warp.code.row_alignment(byte_size(element))
