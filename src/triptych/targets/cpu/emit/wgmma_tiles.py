"""WGMMA tile functions: each multiplies one tile for all four warps, written for each kind.

Input: element types, and how the factors lie. Output: MLIR text. The sums stay where programs see them: a row of memory
is one value of all lanes of a warp, which is 8 rows by 4 columns of the tile. Four such vectors, transposed 4x4 inside
each 128 bits, are 16 rows of one column each. So A is packed once as [k][64] in that order of rows, eight columns of B
are converted at a time, and the sums are loaded, transposed, added to over all k, and stored once. Products are added
in the order of k, each with one rounding; f16 sums are rounded to f16 once for each call.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from triptych.kernel_ir.dialects.mma import WARPGROUP_WARPS, elements_per_register
from triptych.kernel_ir.dialects.smem_operands import K_MAJOR
from triptych.kernel_ir.dialects.tile import WARP_THREADS
from triptych.targets.cpu.emit.operand_conversion import converted, stored_type
from triptych.targets.cpu.emit.packed_product import FOUR, LANES, OF_FACTORS, Operand, PackedProduct

PARAMETERS = (
    *("%d: !llvm.ptr", "%distance: i64", "%d_table: !llvm.ptr", "%accumulate: i1", "%blocks: i64", "%depth: i64"),
    *OF_FACTORS,
)
"""The sums of the first warp; how far those of the next are; where the registers of the tile begin; whether to add;
N / 8; slices along k."""


def function_name(a: Operand, b: Operand, accumulator: str) -> str:
    """The function that multiplies one tile."""
    return f"group_mma.{accumulator}.{a.name}.{b.name}"


@cache
def product_function(a: Operand, b: Operand, accumulator: str, wide: bool) -> str:
    """The function; `wide` where the machine has registers for 256 sums."""
    return _WgmmaProduct(a, b, accumulator, WARPGROUP_WARPS if wide else 1).function()


class _WgmmaProduct(PackedProduct):
    def __init__(self, a: Operand, b: Operand, accumulator: str, warps: int) -> None:
        super().__init__(a, b, accumulator, WARPGROUP_WARPS, warps, in_order=False)

    def function(self) -> str:
        lines = self._lines
        self._begin()
        lines.add("%first_group = arith.constant 0 : i64")
        with lines.loop("%kb", "%c0", "%depth", "%c1"):
            if self._a.major is None:
                self._pack_registers()
            else:
                self._pack_slice()
        with lines.loop("%j", "%c0", "%blocks", "%c1"):
            with lines.loop("%kb", "%c0", "%depth", "%c1"):
                self._convert_columns()
            with lines.loop("%i", "%c0", "%c2", "%c1"):
                self._add_to_columns()
        return self._ended(function_name(self._a, self._b, self._accumulator), PARAMETERS)

    def _pack_registers(self) -> None:
        """A as the four warps hold it: like sums, with k for columns."""
        a, lines = self._a, self._lines
        together = elements_per_register(a.kind)
        kind = f"vector<{LANES}x{stored_type(a.kind)}>"
        lines.add("%first_k = arith.muli %kb, %slice : i64")
        lines.add("%entry = arith.muli %kb, %a_step : i64")
        for far in range(a.depth // (4 * together)):
            rows = [self._row("%a", "%a_table", lines.plus("%entry", half + 2 * far), a.kind) for half in range(2)]
            with lines.loop("%w", "%c0", "%c4", "%c1"):
                away = lines.value("arith.muli %w, %distance : i64")
                warp = [lines.moved(row, away, "i8") for row in rows]
                for part in range(together):
                    found = []
                    for row in warp:
                        for half in range(2):
                            at = lines.element(row, 2 * part + half, kind)
                            loaded = lines.value(f"llvm.load {at} {{alignment = 16 : i64}} : !llvm.ptr -> {kind}")
                            found.append(lines.convert(converted, loaded, a.kind, LANES))
                    for i, column in enumerate(self._transposed(found)):
                        k = lines.plus("%first_k", together * i + part + 4 * together * far)
                        self._store_left(k, "%w", column)

    def _row(self, array: str, table: str, entry: str, kind: str) -> str:
        """The address of a register of all lanes."""
        lines = self._lines
        place = lines.moved(table, entry, "i32")
        number = lines.value(f"llvm.load {place} : !llvm.ptr -> i32")
        wide = lines.value(f"arith.extui {number} : i32 to i64")
        row = f"vector<{WARP_THREADS}x{stored_type(kind)}>"
        return lines.moved(array, wide, row)

    # sums -------------------------------------------------------------------------------------------------------
    def _add_to_columns(self) -> None:
        """The four columns 8j + i + {0, 2, 4, 6}, which are four vectors of each warp."""
        lines, together = self._lines, elements_per_register(self._accumulator)
        first = lines.value(f"arith.muli %j, {'%c4' if together == 1 else '%c2'} : i64")
        entry = lines.value(f"arith.addi {first}, %i : i64") if together == 1 else first
        rows = [
            self._row("%d", "%d_table", lines.plus(entry, half * 2 // together), self._accumulator) for half in range(2)
        ]
        if together == 2:
            row = f"vector<{WARP_THREADS}x{stored_type(self._accumulator)}>"
            rows = [lines.moved(one, "%i", row) for one in rows]
        per_column, step = ("%k_count", "%c1") if self._b.major == K_MAJOR else ("%c1", "%c8")
        columns = []
        for i in FOUR:
            number = lines.plus("%i", 2 * i)
            away = lines.value(f"arith.muli {number}, {per_column} : i64")
            columns.append(lines.moved("%right", away, self._kind))
        some = lines.value(f"arith.constant {self._together} : i64")
        with lines.loop("%w", "%c0", "%c4", some):
            places = self._places(rows)
            sums = [total for four in places for total in self._transposed(self._loaded(four))]
            totals = self._multiplied(sums, columns, step)
            for warp, four in enumerate(places):
                self._stored(four, self._transposed(totals[4 * warp : 4 * warp + 4]))

    def _places(self, rows: Sequence[str]) -> list[list[str]]:
        """Where the four vectors of each warp are."""
        lines, kind = self._lines, f"vector<{LANES}x{stored_type(self._accumulator)}>"
        found = []
        for warp in range(self._together):
            away = lines.value(f"arith.muli {lines.plus('%w', warp)}, %distance : i64")
            mine = [lines.moved(row, away, "i8") for row in rows]
            found.append([lines.element(row, half, kind) for row in mine for half in range(2)])
        return found

    def _loaded(self, places: Sequence[str]) -> list[str]:
        """The sums so far, or zeros."""
        lines, memory = self._lines, f"vector<{LANES}x{stored_type(self._accumulator)}>"
        zero = lines.value(f"arith.constant dense<{'0' if self._whole else '0.0'}> : {self._vector}")
        found = []
        for place in places:
            loaded = lines.value(f"llvm.load {place} {{alignment = 32 : i64}} : !llvm.ptr -> {memory}")
            if memory != self._vector:
                loaded = lines.value(f"arith.extf {loaded} : {memory} to {self._vector}")
            found.append(lines.value(f"arith.select %accumulate, {loaded}, {zero} : {self._vector}"))
        return found

    def _stored(self, places: Sequence[str], totals: Sequence[str]) -> None:
        lines, memory = self._lines, f"vector<{LANES}x{stored_type(self._accumulator)}>"
        for place, total in zip(places, totals, strict=True):
            if memory != self._vector:
                total = lines.value(f"arith.truncf {total} : {self._vector} to {memory}")
            lines.add(f"llvm.store {total}, {place} {{alignment = 32 : i64}} : {memory}, !llvm.ptr")
