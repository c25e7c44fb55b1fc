"""Lane builder: operations on scalars and on vectors of lanes, with the few idioms they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Context, Type, Value
from triptych.ir.types import TypeOrText, element_type, int_width, is_float, is_integer, is_pointer, is_vector
from triptych.kernel_ir.dialects.kernel_operations import defining_op
from triptych.support.device_model import COMMON
from triptych.targets.cpu.abi.abi import ALIGNMENT

Order: TypeAlias = Mapping[str, Attribute]
"""The attributes that say how an atomic access is ordered."""


_WORD_BYTES = 4


class LaneBuilder(Builder):
    """Builds the code of a warp, at the place of the kernel operation that is being converted."""

    def __init__(self, width: int, existing: Context) -> None:
        super().__init__(existing)
        self.width = width

    def wide(self, kind: TypeOrText) -> Type:
        """The type of a value in all lanes."""
        return self.vector(self.width, kind)

    def row_alignment(self, size: int) -> int:
        """Of one element of `size` bytes in every lane, in memory that the block function owns: a row after others."""
        return min(ALIGNMENT, size * self.width)

    def constants(self, values: Sequence[int], kind: TypeOrText) -> Value:
        """One integer constant for each lane, as the type holds it."""
        element = self.type(kind)
        bits = int_width(element)
        assert bits is not None, element
        half, whole = 1 << bits - 1, 1 << bits
        wrapped = ((value + half) % whole - half for value in values)
        return self.dense(", ".join(map(str, wrapped)), self.vector(len(values), element))

    def dense(self, text: str, kind: Type) -> Value:
        return self.value("arith.constant", (), kind, {"value": self.attribute(f"dense<[{text}]> : {kind}")})

    def zero(self, kind: TypeOrText) -> Value:
        """Zero of any scalar or vector type."""
        whole = self.type(kind)
        element = element_type(whole)
        if is_pointer(element):
            return self.value("llvm.mlir.zero", (), whole)
        text = "0.0" if is_float(element) else "false" if is_integer(element, 1) else "0"
        written = f"dense<{text}> : {whole}" if is_vector(whole) else f"{text} : {whole}"
        return self.value("arith.constant", (), whole, {"value": self.attribute(written)})

    def broadcast(self, value: Value, kind: TypeOrText) -> Value:
        """A scalar in all lanes; `kind` is the scalar's type."""
        return self.value("vector.broadcast", (value,), self.wide(kind))

    def same_element(self, vector: Value, element: Type) -> Value | None:
        """The element in all lanes of a vector whose elements are known to be the same; None of any other vector."""
        made = defining_op(vector)
        if made is None:
            return None
        wide = self.wide(element)
        if made.name == "ub.poison":
            return self.value("ub.poison", (), wide, {"value": made.attributes["value"]})
        if made.name == "vector.broadcast" and not is_vector(made.operands[0].type):
            return self.broadcast(made.operands[0], element)
        number = self.splat_number(made.attributes["value"]) if made.name == "arith.constant" else None
        return None if number is None else self.value("arith.constant", (), wide, {"value": self.splat(wide, number)})

    def compare_lanes(self, predicate: str, left: Value, right: Value) -> Value:
        return self.compare(predicate, left, right, self.wide("i1"))

    def shuffle(self, left: Value, right: Value, places: Sequence[int], element: TypeOrText) -> Value:
        mask = self.attribute(f"array<i64: {', '.join(map(str, places))}>")
        return self.value("vector.shuffle", (left, right), self.vector(len(places), element), {"mask": mask})

    def joined(self, parts: Sequence[tuple[Value, int]], element: TypeOrText) -> Value:
        """One vector of vectors and their lengths, pair by pair: a shuffle takes two."""
        parts = list(parts)
        while len(parts) > 1:
            pairs = []
            for i in range(0, len(parts) - 1, 2):
                (left, n), (right, m) = parts[i], parts[i + 1]
                pairs.append((self.shuffle(left, right, range(n + m), element), n + m))
            parts = pairs + parts[len(parts) - len(parts) % 2 :]
        return parts[0][0]

    def interleaved(self, rows: Sequence[Value], element: TypeOrText) -> Value:
        """The elements of each lane side by side, of rows that have one of every lane."""
        every = self.joined([(row, self.width) for row in rows], element)
        places = [i * self.width + lane for lane in range(self.width) for i in range(len(rows))]
        return self.shuffle(every, every, places, element) if len(rows) > 1 else every

    def element_of_lanes(self, packed: Value, place: int, count: int, element: TypeOrText) -> Value:
        """One of the `count` elements that each lane has side by side.

        Bytes come out of words where a warp has 64 lanes: shuffles of so many bytes, which a machine without an
        instruction for it does a few at a time, took a quarter of the time of a product.
        """
        if self.width > COMMON.lanes and count % _WORD_BYTES == 0 and is_integer(self.type(element), 8):
            return self._byte_of_words(packed, place, count)
        return self.shuffle(packed, packed, [lane * count + place for lane in range(self.width)], element)

    def _byte_of_words(self, packed: Value, place: int, count: int) -> Value:
        words, (word, byte) = count // _WORD_BYTES, divmod(place, _WORD_BYTES)
        every = self.value("vector.bitcast", (packed,), self.vector(words * self.width, "i32"))
        found = self.shuffle(every, every, [lane * words + word for lane in range(self.width)], "i32")
        by = self.constants([8 * byte] * self.width, "i32")
        return self.value("arith.trunci", (self.value("arith.shrui", (found, by), by.type),), self.wide("i8"))

    def extract_at(self, vector: Value, lane: Value, element: TypeOrText) -> Value:
        """The element of a lane known at run time (`index`)."""
        place = {"static_position": self.attribute("array<i64: -9223372036854775808>")}
        return self.value("vector.extract", (vector, lane), element, place)

    def reduce(self, kind: TypeOrText, vector: Value, element: TypeOrText) -> Value:
        return self.value("vector.reduction", (vector,), element, {"kind": self.attribute(f"#vector.kind<{kind}>")})

    def any(self, mask: Value) -> Value:
        """Whether a lane of the mask is set."""
        return self.reduce("or", mask, "i1")

    def bits(self, mask: Value) -> Value:
        """The mask as an integer, lane 0 in the lowest bit."""
        kind = f"i{self.width}"
        return self.extract(self.value("vector.bitcast", (mask,), f"vector<1x{kind}>"), 0, kind)

    def first(self, mask: Value) -> Value:
        """The number (i32) of the first lane of a mask that has one."""
        return self._count("math.cttz", mask)

    def many(self, mask: Value) -> Value:
        """How many lanes (i32) a mask has."""
        return self._count("math.ctpop", mask)

    def _count(self, name: str, mask: Value) -> Value:
        bits = self.bits(mask)
        return self.resized(self.value(name, (bits,), bits.type), "i32")

    def counted(self, number: int | Value) -> Value:
        """A number (i64) that is known now, or when the kernel runs."""
        return self.constant(number, "i64") if isinstance(number, int) else number

    def both(self, left: Value, right: Value, kind: TypeOrText | None = None) -> Value:
        return self.value("arith.andi", (left, right), kind or self.wide("i1"))

    def negated(self, condition: Value) -> Value:
        """The contrary of one truth value."""
        return self.value("arith.xori", (condition, self.constant(1, "i1")), "i1")

    def invert(self, mask: Value) -> Value:
        ones = self.dense(", ".join(["true"] * self.width), self.wide("i1"))
        return self.value("arith.xori", (mask, ones), self.wide("i1"))

    # memory -----------------------------------------------------------------------------------------------------
    def offset(self, pointer: Value, index: Value | int, element: TypeOrText) -> Value:
        """The address of an element; `index` is an int, an integer value or a vector of them."""
        dynamic = () if isinstance(index, int) else (index,)
        raw = "-2147483648" if dynamic else str(index)
        wide = any(is_vector(part.type) for part in dynamic)
        return self.value(
            "llvm.getelementptr",
            (pointer, *dynamic),
            self.wide("!llvm.ptr") if wide else "!llvm.ptr",
            {
                "rawConstantIndices": self.attribute(f"array<i32: {raw}>"),
                "elem_type": self.type_attribute(element),
            },
        )

    def load(self, pointer: Value, kind: TypeOrText, alignment: int, order: Order | None = None) -> Value:
        return self.value("llvm.load", (pointer,), kind, self._access(alignment, order))

    def store(self, value: Value, pointer: Value, alignment: int, order: Order | None = None) -> None:
        self.operation("llvm.store", (value, pointer), attributes=self._access(alignment, order))

    def _access(self, alignment: int, order: Order | None) -> dict[str, Attribute]:
        return {"alignment": self.integer("i64", alignment), **(order or {})}
