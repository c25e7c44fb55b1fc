"""Origins of uninitialized values: how they are stored and computed for values made of unwritten registers.

An origin is an integer of 32 bits: 0 for what is set, otherwise which read found which element unset. Every element of
a vector has its own. Nothing in place of a value is an origin that is known to be 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from triptych.ir.builder import Builder
from triptych.ir.handles import Operation, Value
from triptych.ir.types import bit_width, count_and_element, int_width
from triptych.kernel_ir.analysis.uninitialized_values import is_truth

Origin = Value | None
_Held = list[list[Origin]]
_DYNAMIC = -(2**63)
_WORD = "i32"
_CELL_BYTES = 4


def elements(value: Value) -> int:
    """How many origins a value has."""
    counted = count_and_element(value.type)
    return 1 if counted is None else counted[0]


def joined(origins: Origins, parts: Sequence[Origin]) -> Origin:
    """That of a value which is made of several: any of theirs, if one is unset."""
    return reduce(origins.either, parts, None)


class Origins:
    """Writes what happens to origins where the builder is."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._known: dict[Value, list[Origin]] = {}

    def of(self, value: Value) -> list[Origin]:
        """The origins of a value; one that is not followed is set."""
        found = self._known.get(value)
        return [None] * elements(value) if found is None else found

    def put(self, value: Value, origins: Sequence[Origin]) -> None:
        self._known[value] = list(origins)

    # memory -----------------------------------------------------------------------------------------------------
    def slots(self, count: int) -> Value:
        """Cells that hold nothing yet."""
        units = self.builder.value("llvm.mlir.constant", (), _WORD, {"value": self.builder.integer(_WORD, count)})
        attributes = {"elem_type": self.builder.type_attribute(_WORD), "alignment": self.builder.integer("i64", 16)}
        return self.builder.value("llvm.alloca", (units,), "!llvm.ptr", attributes)

    def fill(self, cells: Value, count: int, value: int) -> None:
        self.store(self._splat(count, value), cells)

    def _splat(self, count: int, value: int) -> Value:
        kind = self.builder.vector(count, _WORD)
        number = self.builder.splat(kind, self.builder.integer(_WORD, value))
        return self.builder.value("arith.constant", (), kind, {"value": number})

    def store(self, value: Value, address: Value) -> None:
        self.builder.operation(
            "llvm.store", (value, address), attributes={"alignment": self.builder.integer("i64", _CELL_BYTES)}
        )

    def sum(self, one: Value | None, index: Value, times: int) -> Value:
        """Cells that indices of a run lead to (i64)."""
        if (int_width(index.type) or 64) < 64:
            index = self.builder.value("arith.extsi", (index,), "i64")
        if times != 1:
            index = self.builder.value("arith.muli", (index, self.builder.constant(times, "i64")), "i64")
        return index if one is None else self.builder.value("arith.addi", (one, index), "i64")

    def _address(self, cells: Value, moving: Value | None, known: int) -> Value:
        if moving is not None:
            cells = self._further(cells, (moving,), "-2147483648")
        return self._further(cells, (), str(known)) if known else cells

    def _further(self, cells: Value, moving: tuple[Value, ...], index: str) -> Value:
        attributes = {
            "rawConstantIndices": self.builder.attribute(f"array<i32: {index}>"),
            "elem_type": self.builder.type_attribute(_WORD),
        }
        return self.builder.value("llvm.getelementptr", (cells, *moving), "!llvm.ptr", attributes)

    def cell(self, cells: Value, moving: Value | None, known: int) -> Value:
        """What a cell holds."""
        alignment = {"alignment": self.builder.integer("i64", _CELL_BYTES)}
        return self.builder.value("llvm.load", (self._address(cells, moving, known),), _WORD, alignment)

    def read(self, cells: Value, moving: Value | None, known: int, own: int) -> Value:
        """The origin of an element that is read: one that nobody has set (all bits) gets this read's."""
        mine = self.builder.constant(own + known, _WORD)
        if moving is not None:
            index = self.builder.value("arith.trunci", (moving,), _WORD)
            mine = self.builder.value("arith.addi", (mine, index), _WORD)
        return self.builder.value("arith.minui", (self.cell(cells, moving, known), mine), _WORD)

    def store_all(self, origins: Sequence[Origin], count: int, cells: Value, moving: Value | None, known: int) -> None:
        """Cells side by side."""
        if all(origin is None for origin in origins):
            self.store(self._splat(count, 0), self._address(cells, moving, known))
            return
        for i, origin in enumerate(origins):
            value = self.builder.constant(0, _WORD) if origin is None else origin
            self.store(value, self._address(cells, moving, known + i))

    # arithmetic -------------------------------------------------------------------------------------------------
    def either(self, one: Origin, other: Origin) -> Origin:
        if one is None or other is None or one == other:
            return other if one is None else one
        return self.builder.value("arith.maxui", (one, other), _WORD)

    def least(self, origins: Sequence[Origin]) -> Origin:
        """One of them if all are unset."""
        kept = [origin for origin in origins if origin is not None]
        if len(kept) < len(origins):
            return None
        return reduce(lambda one, other: self.builder.value("arith.minui", (one, other), _WORD), kept)

    def chosen(self, condition: Value, one: Origin, other: Origin) -> Origin:
        """That of the side which a condition takes."""
        if one is None and other is None:
            return None
        sides = [self.builder.constant(0, _WORD) if side is None else side for side in (one, other)]
        return self.builder.value("arith.select", (condition, *sides), _WORD)

    def compute(self, operation: Operation) -> None:
        """The origins of the results of an operation of one thread."""
        name = operation.name
        if name == "arith.select":
            made = [self._selected(operation)]
        elif name in ("arith.andi", "arith.ori") and is_truth(operation.results[0]):
            made = [[self._truth(operation)]]
        elif name in _MOVES:
            made = _MOVES[name](operation, [self.of(operand) for operand in operation.operands])
        elif name == "vector.reduction":
            made = [[joined(self, [origin for operand in operation.operands for origin in self.of(operand)])]]
        elif name in ("vector.bitcast", "llvm.bitcast", "arith.bitcast"):
            made = [self._regrouped(operation)]
        else:
            made = [self._each(operation, result) for result in operation.results]
        for result, origins in zip(operation.results, made, strict=True):
            if any(origin is not None for origin in origins):
                self.put(result, origins)

    def _each(self, operation: Operation, result: Value) -> list[Origin]:
        """Element by element; what has another shape is not followed."""
        count = elements(result)
        sides = [self.of(operand) for operand in operation.operands]
        if any(len(side) not in (1, count) for side in sides):
            return [None] * count
        return [joined(self, [side[i % len(side)] for side in sides]) for i in range(count)]

    def _selected(self, operation: Operation) -> list[Origin]:
        condition, one, other = operation.operands
        conditions, first, second = (self.of(each) for each in (condition, one, other))
        if len(conditions) > 1:
            return [
                self.either(conditions[i], self._side(condition, i, first[i], second[i])) for i in range(len(first))
            ]
        return [self.either(conditions[0], self.chosen(condition, a, b)) for a, b in zip(first, second, strict=True)]

    def _side(self, conditions: Value, place: int, one: Origin, other: Origin) -> Origin:
        if one is None and other is None:
            return None
        position = {"static_position": self.builder.attribute(f"array<i64: {place}>")}
        return self.chosen(self.builder.value("vector.extract", (conditions,), "i1", position), one, other)

    def _truth(self, operation: Operation) -> Origin:
        """`and`, `or` of truth values: a side that is set and decides alone makes the other not matter."""
        left, right = operation.operands
        (one,), (other,) = self.of(left), self.of(right)
        is_and = operation.name == "arith.andi"
        found = self.least([one, other])
        for condition, origin in ((right, one), (left, other)):
            kept = self.chosen(condition, origin, None) if is_and else self.chosen(condition, None, origin)
            found = self.either(found, kept if origin is not None else None)
        return found

    def _regrouped(self, operation: Operation) -> list[Origin]:
        """The same bits in other elements."""
        source, result = operation.operands[0], operation.results[0]
        held, count = self.of(source), elements(result)
        if bit_width(source.type) != bit_width(result.type) or (len(held) % count and count % len(held)):
            return [None] * count
        if count >= len(held):
            return [held[i * len(held) // count] for i in range(count)]
        each = len(held) // count
        return [joined(self, held[i * each : (i + 1) * each]) for i in range(count)]


def _extract(operation: Operation, held: _Held) -> _Held:
    (place,) = operation.attributes["static_position"]
    return [[None if place == _DYNAMIC else held[0][place]]]


def _insert(operation: Operation, held: _Held) -> _Held:
    (place,) = operation.attributes["static_position"]
    (value,), target = held[0], list(held[1])
    if place == _DYNAMIC:
        return [[None] * len(target)]
    target[place] = value
    return [target]


def _shuffle(operation: Operation, held: _Held) -> _Held:
    every = [*held[0], *held[1]]
    return [[every[place] if place >= 0 else None for place in operation.attributes["mask"]]]


def _broadcast(operation: Operation, held: _Held) -> _Held:
    return [held[0] * (elements(operation.results[0]) // len(held[0]))]


def _slice(operation: Operation, held: _Held) -> _Held:
    (first,), (step,) = ([int(each.value) for each in operation.attributes[name]] for name in ("offsets", "strides"))
    return [held[0][first::step][: elements(operation.results[0])]]


def _interleave(_operation: Operation, held: _Held) -> _Held:
    return [[origin for pair in zip(*held, strict=True) for origin in pair]]


_MOVES: dict[str, Callable[[Operation, _Held], _Held]] = {
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shuffle": _shuffle,
    "vector.broadcast": _broadcast,
    "vector.from_elements": lambda _operation, held: [[each[0] for each in held]],
    "vector.to_elements": lambda _operation, held: [[origin] for origin in held[0]],
    "vector.extract_strided_slice": _slice,
    "vector.interleave": _interleave,
    "vector.deinterleave": lambda _operation, held: [held[0][::2], held[0][1::2]],
}
