"""UMMA tile functions: each multiplies tiles of shared memory into tensor memory, written for each kind.

Input: element types, how the factors lie, and the rows of a tile. Output: MLIR text. A column of tensor memory is 128
words, a lane each, so that 16 rows of a column are a vector as they lie.
"""

from __future__ import annotations

from functools import cache

from triptych.kernel_ir.dialects.smem_operands import K_MAJOR
from triptych.kernel_ir.dialects.tensor_memory import LANES as TENSOR_LANES
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
