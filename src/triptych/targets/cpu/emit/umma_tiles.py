"""UMMA tile functions: each multiplies tiles of shared memory into tensor memory, written for each kind.

Input: element types, how the factors lie, and the rows of a tile. Output: MLIR text. A column of tensor memory is 128
words, a lane each, so that 16 rows of a column are a vector as they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from triptych.kernel_ir.dialects.smem_operands import ATOM_ROWS, K_MAJOR
from triptych.kernel_ir.dialects.tensor_memory import LANES as TENSOR_LANES
from triptych.targets.cpu.emit.operand_conversion import converted
from triptych.targets.cpu.emit.packed_product import FOUR, LANES, OF_FACTORS, Operand, PackedProduct

PARAMETERS = ("%d: !llvm.ptr", "%accumulate: i1", "%blocks: i64", "%depth: i64", *OF_FACTORS)
"""The word of the first row and column; whether to add; N / 8; slices along k."""
_TOGETHER = 4


def function_name(a: Operand, b: Operand, accumulator: str, rows: int, apart: int) -> str:
    """The function that multiplies one tile of so many rows, whose groups of 16 are so many lanes apart."""
    return f"umma.{accumulator}.{a.name}.{b.name}.m{rows}.{apart}"


@cache
def product_function(a: Operand, b: Operand, accumulator: str, rows: int, apart: int, wide: bool) -> str:
    """The function; `wide` where the machine has registers for 256 sums."""
    return _UmmaProduct(a, b, accumulator, rows // LANES, apart, _TOGETHER if wide else 1).function()


class _UmmaProduct(PackedProduct):
    def __init__(self, a: Operand, b: Operand, accumulator: str, groups: int, apart: int, together: int) -> None:
        super().__init__(a, b, accumulator, groups, together, in_order=True)
        self._apart = apart

    def function(self) -> str:
        lines = self._lines
        self._begin()
        with lines.loop("%kb", "%c0", "%depth", "%c1"):
            self._pack_slice()
        with lines.loop("%j", "%c0", "%blocks", "%c1"):
            with lines.loop("%kb", "%c0", "%depth", "%c1"):
                self._convert_columns()
            with lines.loop("%i", "%c0", "%c8", "%c4"):
                self._add_to_columns()
        name = function_name(self._a, self._b, self._accumulator, LANES * self._groups, self._apart)
        return self._ended(name, PARAMETERS)

    def _add_to_columns(self) -> None:
        """The four columns from 8j + i on."""
        lines = self._lines
        per_column, step = ("%k_count", "%c1") if self._b.major == K_MAJOR else ("%c1", "%c8")
        first = lines.value(f"arith.addi {lines.value('arith.muli %j, %c8 : i64')}, %i : i64")
        factors = []
        for i in FOUR:
            away = lines.value(f"arith.muli {lines.plus('%i', i)}, {per_column} : i64")
            factors.append(lines.moved("%right", away, self._kind))
        some = lines.value(f"arith.constant {self._together} : i64")
        with lines.loop("%w", "%c0", "%groups", some):
            places = [self._place(lines.plus(first, i), group) for group in range(self._together) for i in FOUR]
            totals = self._multiplied([self._loaded(place) for place in places], factors, step)
            for place, total in zip(places, totals, strict=True):
                self._store(place, total)

    def _place(self, column: str, group: int) -> str:
        """Where 16 rows of a column are."""
        lines = self._lines
        size = lines.value(f"arith.constant {TENSOR_LANES} : i64")
        apart = lines.value(f"arith.constant {self._apart} : i64")
        rows = lines.value(f"arith.muli {lines.plus('%w', group)}, {apart} : i64")
        word = lines.value(f"arith.addi {lines.value(f'arith.muli {column}, {size} : i64')}, {rows} : i64")
        return lines.moved("%d", word, "i32")

    def _loaded(self, place: str) -> str:
        """The sums so far, or zeros; sums of f16 are the low halves of words."""
        lines = self._lines
        words = f"vector<{LANES}xi32>"
        zero = lines.value(f"arith.constant dense<{'0' if self._whole else '0.0'}> : {self._vector}")
        memory = words if self._accumulator == "f16" else self._vector
        found = lines.value(f"llvm.load {place} {{alignment = 64 : i64}} : !llvm.ptr -> {memory}")
        if self._accumulator == "f16":
            low = lines.value(f"arith.trunci {found} : {words} to vector<{LANES}xi16>")
            half = lines.value(f"arith.bitcast {low} : vector<{LANES}xi16> to vector<{LANES}xf16>")
            found = lines.value(f"arith.extf {half} : vector<{LANES}xf16> to {self._vector}")
        return lines.value(f"arith.select %accumulate, {found}, {zero} : {self._vector}")

    def _store(self, place: str, total: str) -> None:
        lines, kind = self._lines, self._vector
        if self._accumulator == "f16":
            half = lines.value(f"arith.truncf {total} : {self._vector} to vector<{LANES}xf16>")
            low = lines.value(f"arith.bitcast {half} : vector<{LANES}xf16> to vector<{LANES}xi16>")
            kind = f"vector<{LANES}xi32>"
            total = lines.value(f"arith.extui {low} : vector<{LANES}xi16> to {kind}")
        lines.add(f"llvm.store {total}, {place} {{alignment = 64 : i64}} : {kind}, !llvm.ptr")


# block scales -------------------------------------------------------------------------------------------------------
SCALED_PARAMETERS = (
    *PARAMETERS,
    *(f"%sf{name}{part}" for name in "ab" for part in (": !llvm.ptr", "_byte: i32", "_table: !llvm.ptr")),
)
"""The words of the scales of the first row and column, which byte of them the first block has, and for each slice along
k how many words and bytes further its first block is."""


def scaled_function_name(a: Operand, b: Operand, scale: str, vector: int) -> str:
    """The function that multiplies one instruction's 128 rows with block scales."""
    return f"umma.{a.name}.{b.name}.{scale}x{vector}"


@cache
def scaled_product_function(a: Operand, b: Operand, scale: str, vector: int, wide: bool) -> str:
    """The function; `wide` where the machine has registers for 256 sums."""
    return _ScaledProduct(a, b, scale, vector, _TOGETHER if wide else 1).function()


class _ScaledProduct(_UmmaProduct):
    """Products of a block are added from zero; the sum times both scales is added with one rounding."""

    def __init__(self, a: Operand, b: Operand, scale: str, vector: int, together: int) -> None:
        super().__init__(a, b, "f32", TENSOR_LANES // LANES, LANES, together)
        self._scale, self._block = scale, vector

    def function(self) -> str:
        lines = self._lines
        self._begin()
        lines.add(f"%block = arith.constant {self._block} : i64")
        lines.add("%blocks_of_k = arith.divui %k_count, %block : i64")
        lines.add("%blocks_of_slice = arith.divui %slice, %block : i64")
        for name, count in (("left", "%rows"), ("right", "%c8")):
            lines.add(f"%{name}_room = arith.muli %blocks_of_k, {count} : i64")
            allocated = f"llvm.alloca %{name}_room x f32 {{alignment = 64 : i64}} : (i64) -> !llvm.ptr"
            lines.add(f"%{name}_scales = {allocated}")
        with lines.loop("%kb", "%c0", "%depth", "%c1"):
            self._pack_slice()
        with lines.loop("%kb", "%c0", "%blocks_of_k", "%c1"), lines.loop("%w", "%c0", "%groups", "%c1"):
            self._left_scales()
        with lines.loop("%j", "%c0", "%blocks", "%c1"):
            with lines.loop("%kb", "%c0", "%depth", "%c1"):
                self._convert_columns()
            with lines.loop("%kb", "%c0", "%blocks_of_k", "%c1"):
                self._right_scales()
            with lines.loop("%i", "%c0", "%c8", "%c4"):
                self._add_to_columns()
        return self._ended(scaled_function_name(self._a, self._b, self._scale, self._block), SCALED_PARAMETERS)

    def _left_scales(self) -> None:
        """Of rows 16w on: row r is in lane r, and 32 rows are a column."""
        lines = self._lines
        rows = lines.value("arith.muli %w, %c16 : i64")
        column = lines.value("arith.shrui %w, %c1 : i64")
        at = lines.value("arith.muli %kb, %groups : i64")
        to = lines.moved("%left_scales", lines.value(f"arith.addi {at}, %w : i64"), self._vector)
        self._scales("a", column, rows, LANES, to)

    def _right_scales(self) -> None:
        """Of columns 8j on."""
        lines = self._lines
        first = lines.value("arith.muli %j, %c8 : i64")
        column = lines.value("arith.shrui %j, %c2 : i64")
        lane = lines.value(f"arith.andi {first}, {lines.value('arith.constant 31 : i64')} : i64")
        to = lines.moved("%right_scales", lines.value("arith.muli %kb, %c8 : i64"), "f32")
        self._scales("b", column, lane, ATOM_ROWS, to)

    def _scales(self, name: str, column: str, lane: str, count: int, to: str) -> None:
        """Those of block %kb, as numbers."""
        lines, words, small = self._lines, f"vector<{count}xi32>", f"vector<{count}xi8>"
        size = lines.value(f"arith.constant {TENSOR_LANES} : i64")
        word = lines.value(f"arith.addi {lines.value(f'arith.muli {column}, {size} : i64')}, {lane} : i64")
        slice_ = lines.value("arith.divui %kb, %blocks_of_slice : i64")
        entry = lines.moved(f"%sf{name}_table", lines.value(f"arith.muli {slice_}, %c2 : i64"), "i32")
        further = lines.value(f"llvm.load {entry} : !llvm.ptr -> i32")
        more = lines.value(f"llvm.load {lines.element(entry, 1, 'i32')} : !llvm.ptr -> i32")
        word = lines.value(f"arith.addi {word}, {lines.value(f'arith.extsi {further} : i32 to i64')} : i64")
        place = lines.moved(f"%sf{name}", word, "i32")
        found = lines.value(f"llvm.load {place} {{alignment = 32 : i64}} : !llvm.ptr -> {words}")
        number = lines.value("arith.remui %kb, %blocks_of_slice : i64")
        number = lines.value(f"arith.trunci {number} : i64 to i32")
        byte = lines.value(f"arith.addi {lines.value(f'arith.addi {number}, {more} : i32')}, %sf{name}_byte : i32")
        away = lines.value(f"arith.shli {byte}, {lines.value('arith.constant 3 : i32')} : i32")
        spread = lines.value(f"vector.broadcast {away} : i32 to {words}")
        low = lines.value(
            f"arith.trunci {lines.value(f'arith.shrui {found}, {spread} : {words}')} : {words} to {small}"
        )
        scale = lines.convert(converted, low, self._scale, count)
        lines.add(f"llvm.store {scale}, {to} {{alignment = 32 : i64}} : vector<{count}xf32>, !llvm.ptr")

    def _multiplied(self, sums: Sequence[str], columns: Sequence[str], step: str) -> list[str]:
        """Block after block."""
        lines = self._lines
        zero = lines.value(f"arith.constant dense<0.0> : {self._vector}")
        with lines.carrying("%kb", "%c0", "%blocks_of_k", "%c1", sums, self._vector) as totals:
            lines.add("%first_of_block = arith.muli %kb, %block : i64")
            lines.add("%end_of_block = arith.addi %first_of_block, %block : i64")
            found = self._over(("%first_of_block", "%end_of_block"), [zero] * len(sums), columns, step)
            at = lines.value(f"arith.addi {lines.value('arith.muli %kb, %groups : i64')}, %w : i64")
            left = lines.moved("%left_scales", at, self._vector)
            first = lines.value(f"arith.addi {lines.value('arith.muli %kb, %c8 : i64')}, %i : i64")
            right = lines.moved("%right_scales", first, "f32")
            rows = [
                lines.value(f"llvm.load {lines.element(left, i, self._vector)} : !llvm.ptr -> {self._vector}")
                for i in range(self._together)
            ]
            for number in FOUR:
                one = lines.value(f"llvm.load {lines.element(right, number, 'f32')} : !llvm.ptr -> f32")
                spread = lines.value(f"vector.broadcast {one} : f32 to {self._vector}")
                for group, row in enumerate(rows):
                    scale = lines.value(f"arith.mulf {row}, {spread} : {self._vector}")
                    i = 4 * group + number
                    totals[i] = lines.value(f"math.fma {found[i]}, {scale}, {totals[i]} : {self._vector}")
        return lines.carried
