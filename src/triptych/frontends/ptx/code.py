"""Inline PTX, builder of lowerings: the types of PTX, and operations on raw MLIR values at the user's line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triptych.ir.handles import Attribute, Value
from triptych.ir.types import int_width, is_float, type_text
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.conversion import bitcast, constant, convert
from triptych.metastage.values.promotion import TYPES, TypeInfo
from triptych.support.dataclass import dataclass

FLOATS = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64"}
PAIRS = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32"}
"""Two floats side by side; the first is in the low bits."""
WIDTHS = {
    "pred": 1,
    **{f"{letter}{width}": width for letter in "bus" for width in (8, 16, 32, 64, 128)},
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    "f16x2": 32,
    "bf16x2": 32,
    "f32x2": 64,
}
ROUNDINGS = frozenset({"rn", "rz", "rm", "rp"})


def bits_of(kind: str) -> str:
    """The MLIR integer that holds a register of a kind."""
    return f"i{WIDTHS[kind]}"


def mlir_of(kind: str) -> str:
    """The MLIR type that instructions of a kind compute with: floats by themselves, all else as bits."""
    return FLOATS.get(kind, bits_of(kind))


def is_signed(kind: str) -> bool:
    return kind[0] == "s"


def type_in(marks: tuple[str, ...]) -> str:
    """The last word of an opcode that is a type; none is empty."""
    return next((mark for mark in reversed(marks) if mark in WIDTHS), "")


_INFOS = {info.mlir: info for info in TYPES.values() if info.kind in ("uint", "float", "bool")}
COMPARISONS = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5, "lo": 6, "ls": 7, "hi": 8, "hs": 9}
"""Of integers; without a sign the middle four are those after them."""
ORDERED = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 6, "num": 7}
UNORDERED = {"equ": 8, "gtu": 9, "geu": 10, "ltu": 11, "leu": 12, "neu": 13, "nan": 14}
"""Of floats, by the word of PTX."""


def width_of(value: Value) -> int:
    """The bits of an integer, or of a float."""
    kind = value.type
    return kind.width if is_float(kind) else int_width(kind) or 0


@dataclass(frozen=True, slots=True)
class Code:
    """Emits into a trace."""

    trace: Trace

    def value(
        self, name: str, operands: Sequence[Value], result: str, attributes: Mapping[str, Attribute] | None = None
    ) -> Value:
        return self.trace.value(name, operands, result, attributes)

    def effect(
        self, name: str, operands: Sequence[Value] = (), attributes: Mapping[str, Attribute] | None = None
    ) -> None:
        self.trace.operation(name, operands, attributes=attributes)

    def like(self, name: str, *operands: Value) -> Value:
        """An operation whose result has the type of its first operand."""
        return self.value(name, operands, type_text(operands[0].type))

    # numbers ----------------------------------------------------------------------------------------------------
    def integer(self, width: int, number: int) -> Value:
        """A constant of so many bits."""
        written = f"i{width}"
        return self.value("arith.constant", (), written, {"value": self.trace.builder.integer(written, number)})

    def number(self, mlir: str, number: float) -> Value:
        """A constant float."""
        return constant(self.trace, number, _INFOS[mlir])

    def resized(self, value: Value, to: int, signed: bool = False) -> Value:
        """An integer with another number of bits."""
        width = width_of(value)
        if width == to:
            return value
        name = "arith.trunci" if width > to else "arith.extsi" if signed else "arith.extui"
        return self.value(name, (value,), f"i{to}")

    def bits(self, value: Value, kind: str) -> Value:
        """What an instruction of a kind has computed, as bits."""
        return self.value("arith.bitcast", (value,), bits_of(kind)) if kind in FLOATS else value

    def from_bits(self, bits: Value, kind: str) -> Value:
        """Bits as what an instruction of a kind computes with."""
        return self.value("arith.bitcast", (bits,), mlir_of(kind)) if kind in FLOATS else bits

    def converted(self, value: Value, source: TypeInfo, target: TypeInfo, saturate: bool = False) -> Value:
        return convert(self.trace, value, source, target, saturate=saturate)

    def cast(self, value: Value, source: TypeInfo, target: TypeInfo) -> Value:
        """The same bits as a number of another type."""
        return bitcast(self.trace, value, source, target)

    # choices ----------------------------------------------------------------------------------------------------
    def compare(self, test: str, left: Value, right: Value, signed: bool) -> Value:
        """Of integers, by the word of PTX."""
        number = COMPARISONS[test]
        if test in ("lt", "le", "gt", "ge") and not signed:
            number += 4
        return self._compared("arith.cmpi", number, left, right)

    def compare_floats(self, test: str, left: Value, right: Value) -> Value:
        """By the word of PTX: what ends in u is true of NaN."""
        return self._compared("arith.cmpf", (ORDERED | UNORDERED)[test], left, right)

    def _compared(self, name: str, predicate: int, left: Value, right: Value) -> Value:
        return self.value(name, (left, right), "i1", {"predicate": self.trace.builder.integer("i64", predicate)})

    def is_nan(self, value: Value) -> Value:
        return self.compare_floats("nan", value, value)

    def select(self, choice: Value, yes: Value, no: Value) -> Value:
        return self.value("arith.select", (choice, yes, no), type_text(yes.type))

    def loop(
        self,
        bounds: tuple[Value, Value, Value],
        initial: Sequence[Value],
        step: Callable[[Value, list[Value]], Sequence[Value]],
    ) -> list[Value]:
        """A loop from the first bound to the second in steps of the third; `step` takes the number of a turn and the
        values so far, and gives the next ones."""
        trace, kinds = self.trace, [value.type for value in initial]
        loop = trace.operation("scf.for", (*bounds, *initial), kinds, regions=1)
        block = trace.builder.append_block(loop, 0, [bounds[0].type, *kinds], trace.location())
        number, *carried = block.arguments
        with trace.inside(block, "loop"):
            trace.operation("scf.yield", tuple(step(number, carried)))
        return list(loop.results)

    # words ------------------------------------------------------------------------------------------------------
    def word(self, text: str) -> Attribute:
        return self.trace.builder.string(text)

    def position(self, index: int) -> dict[str, Attribute]:
        return {"position": self.trace.builder.attribute(f"array<i64: {index}>")}

    def halves(self, bits: Value, count: int = 2) -> list[Value]:
        """The parts of a register, the low one first."""
        width = width_of(bits)
        part = width // count
        moved = [bits if not i else self.like("arith.shrui", bits, self.integer(width, part * i)) for i in range(count)]
        return [self.resized(each, part) for each in moved]

    def joined(self, parts: Sequence[Value]) -> Value:
        """A register of parts, the low one first."""
        part = width_of(parts[0])
        width = part * len(parts)
        whole = self.resized(parts[0], width)
        for i, each in enumerate(parts[1:], start=1):
            moved = self.like("arith.shli", self.resized(each, width), self.integer(width, part * i))
            whole = self.like("arith.ori", whole, moved)
        return whole


Function = Callable[..., Any]
"""Takes the code and a value for each source, gives a value for each result."""

ADDRESS = "address"
"""In the place of a source's kind: `[register + constant]`, which comes as bits."""


@dataclass(frozen=True, slots=True)
class Lowering:
    """What an instruction computes: kinds of its results and of its sources, and the operations between them."""

    results: tuple[str, ...]
    sources: tuple[str, ...]
    function: Function
    effect: bool = False
    """Whether it does more than compute, so that a guard must keep it from happening."""
    widens: bool = False
    """Whether registers may be wider than the kinds."""
    special: bool = False
    """Whether it reads special registers: only a `mov` does."""
