"""Packed MMA operands of a CPU: A and B out of shared memory as numbers that a product adds up, as MLIR text.

Input: element types, and how the factors lie. Output: lines of a function: A as [k][rows], 16 rows to a vector; eight
columns of B at a time; and the loop over k, in whose order products are added, each with one rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.kernel_ir.dialects.mma import DEPTH_BYTES, WIDTHS
from triptych.kernel_ir.dialects.smem_operands import (
    ATOM_ROWS,
    CHUNK_BYTES,
    K_MAJOR,
    atom_rows,
    byte_swizzle,
    row_bytes,
)
from triptych.support.dataclass import dataclass
from triptych.targets.cpu.emit.operand_conversion import converted, stored_type
from triptych.targets.cpu.emit.text_lines import Lines

LANES = 16
"""Elements of a vector: 16 rows of a column."""
FOUR = range(4)
PANEL = 4
"""Groups of rows of A that are packed side by side: with the k of a slice they fit the first cache."""
_STEPS = 4
"""Values of k in one turn of the innermost loop."""
OF_FACTORS = (
    *(f"%{name}{part}" for name in "ab" for part in (": !llvm.ptr", "_table: !llvm.ptr", "_step: i64")),
    *(f"%{name}{part}" for name in "ab" for part in ("_leading: i64", "_stride: i64")),
)
"""Parameters of A and B: memory, where each slice begins in it, how far apart the slices of neighbouring k are in that
table, and the two distances inside a slice."""


@dataclass(frozen=True, slots=True)
class Operand:
    """The type of an operand and how it lies: K- or MN-major under a swizzle, or (None) in registers or columns of
    tensor memory."""

    kind: str
    major: int | None
    swizzle: int = 0
    chunks: int = DEPTH_BYTES // CHUNK_BYTES
    """What a slice has of a row."""

    @property
    def name(self) -> str:
        return f"{self.kind}.r" if self.major is None else f"{self.kind}.{'kn'[self.major]}{self.swizzle}"

    @property
    def chunk(self) -> int:
        """Elements that a swizzle keeps together."""
        return 8 * CHUNK_BYTES // WIDTHS[self.kind]

    @property
    def depth(self) -> int:
        """K of a slice."""
        return self.chunks * self.chunk

    @property
    def row_bytes(self) -> int:
        """The contiguous elements of an atom."""
        return row_bytes(self.swizzle)


class PackedProduct:
    """The lines of a function that multiplies one tile; %k_count is all of k, %left and %right are packed factors."""

    def __init__(self, a: Operand, b: Operand, accumulator: str, groups: int, together: int, *, in_order: bool) -> None:
        self._a, self._b, self._accumulator = a, b, accumulator
        self._whole = accumulator == "s32"
        self._kind = "i32" if self._whole else "f32"
        self._vector = f"vector<{LANES}x{self._kind}>"
        self._groups = groups
        """Of 16 rows each."""
        self._together = together
        """Groups whose sums are in registers at a time."""
        self._in_order = in_order
        """Whether a vector has rows one after the other; else row 4 * (i % 4) + i / 4 is at place i, as sums in
        registers of warps give them by a transposition inside each 128 bits."""
        self._lines = Lines()

    def _begin(self, columns: str = "%c8", right: str = "%right") -> None:
        """Constants, and memory for PANEL groups of rows of A and so many columns of B, of which %right are eight."""
        lines = self._lines
        for number in (0, 1, 2, 4, 7, 8, 16):
            lines.add(f"%c{number} = arith.constant {number} : i64")
        lines.add(f"%groups = arith.constant {self._groups} : i64")
        lines.add(f"%panel = arith.constant {PANEL} : i64")
        lines.add(f"%rows = arith.constant {LANES * PANEL} : i64")
        lines.add(f"%slice = arith.constant {self._a.depth} : i64")
        lines.add("%k_count = arith.muli %depth, %slice : i64")
        lines.add("%room = arith.muli %k_count, %rows : i64")
        lines.add(f"%b_room = arith.muli %k_count, {columns} : i64")
        lines.add(f"%left = llvm.alloca %room x {self._kind} {{alignment = 64 : i64}} : (i64) -> !llvm.ptr")
        lines.add(f"{right} = llvm.alloca %b_room x {self._kind} {{alignment = 64 : i64}} : (i64) -> !llvm.ptr")

    def _ended(self, name: str, parameters: Sequence[str]) -> str:
        """The text of the function."""
        head = f"func.func private @{name}({', '.join(parameters)})"
        passed = 'attributes {llvm.passthrough = ["noinline", "nounwind"]}'
        return "\n".join([f"{head} {passed} {{", *self._lines.text, "func.return", "}"])

    # A ----------------------------------------------------------------------------------------------------------
    def _pack_slice(self) -> None:
        """One slice along k of the groups from %first_group on, as [k][rows]."""
        lines = self._lines
        lines.add("%first_k = arith.muli %kb, %slice : i64")
        self._slice_start("a")
        with lines.loop("%w", "%c0", "%panel", "%c1"):
            lines.add("%group = arith.addi %first_group, %w : i64")
            if self._a.major == K_MAJOR:
                self._pack_rows()
            else:
                self._pack_columns()

    def _slice_start(self, name: str) -> None:
        """Where a slice begins, as a number."""
        lines = self._lines
        lines.add(f"%entry = arith.muli %kb, %{name}_step : i64")
        lines.add(f"%entry_p = llvm.getelementptr %{name}_table[%entry] : (!llvm.ptr, i64) -> !llvm.ptr, i32")
        lines.add("%entry_d = llvm.load %entry_p : !llvm.ptr -> i32")
        lines.add("%entry_w = arith.extsi %entry_d : i32 to i64")
        lines.add(f"%memory = llvm.ptrtoint %{name} : !llvm.ptr to i64")
        lines.add("%start = arith.addi %memory, %entry_w : i64")

    def _swizzled(self, operand: Operand, address: str, *after: int) -> list[str]:
        """Where the 16 bytes of an address lie, and those so many bytes after it, of the same 128."""
        lines = self._lines
        addresses = [address, *(lines.plus(address, distance) for distance in after)]
        if not operand.swizzle:
            return addresses
        line = lines.value(f"arith.shrui {address}, %c7 : i64")
        swizzle = byte_swizzle(operand.swizzle)
        mask = lines.value(f"arith.constant {(1 << swizzle.bits) - 1} : i64")
        inside = lines.value(f"arith.andi {line}, {mask} : i64")
        base = lines.value(f"arith.constant {swizzle.base} : i64")
        moved = lines.value(f"arith.shli {inside}, {base} : i64")
        return [lines.value(f"arith.xori {one}, {moved} : i64") for one in addresses]

    def _chunk_at(self, operand: Operand, place: str, half: str | None = None) -> str:
        """Load the 16 bytes of a place, or eight elements of a byte, the first or the last half of them."""
        lines = self._lines
        pointer = lines.value(f"llvm.inttoptr {place} : i64 to !llvm.ptr")
        count, alignment = operand.chunk, CHUNK_BYTES
        if half is not None:
            count, alignment = count // 2, alignment // 2
            pointer = lines.moved(pointer, lines.value(f"arith.muli {half}, %c8 : i64"), "i8")
        if operand.kind == "e2m1":
            return self._halves_of_bytes(pointer)
        kind = f"vector<{count}x{stored_type(operand.kind)}>"
        return lines.value(f"llvm.load {pointer} {{alignment = {alignment} : i64}} : !llvm.ptr -> {kind}")

    def _halves_of_bytes(self, pointer: str) -> str:
        """32 elements of four bits, a byte each, whose high bits stay what they are."""
        lines, kind = self._lines, f"vector<{CHUNK_BYTES}xi8>"
        low = lines.value(f"llvm.load {pointer} {{alignment = {CHUNK_BYTES} : i64}} : !llvm.ptr -> {kind}")
        four = lines.value(f"arith.constant dense<4> : {kind}")
        high = lines.value(f"arith.shrui {low}, {four} : {kind}")
        places = [half * CHUNK_BYTES + byte for byte in range(CHUNK_BYTES) for half in range(2)]
        return lines.shuffle(low, high, places, CHUNK_BYTES, "i8")

    def _pack_rows(self) -> None:
        """16 rows along K: four by four, so that the transposition gives 16 rows of one k."""
        a, lines = self._a, self._lines
        group = lines.value("arith.muli %group, %c2 : i64")
        group = lines.value(f"arith.muli {group}, %a_stride : i64")
        start = lines.value(f"arith.addi %start, {group} : i64")
        halves = (start, lines.value(f"arith.addi {start}, %a_stride : i64"))
        places = [
            self._chunks_of_row("a", a, lines.plus(halves[row // ATOM_ROWS], row % ATOM_ROWS * a.row_bytes))
            for row in range(LANES)
        ]
        for chunk in range(a.chunks):
            quads = []
            for four in FOUR:
                rows = places[four::4] if self._in_order else places[4 * four : 4 * four + 4]
                loaded = [self._chunk_at(a, row[chunk]) for row in rows]
                quads.append(self._joined(loaded, a.chunk, stored_type(a.kind)))
            for part in range(a.chunk // 4):
                picked = [
                    self._picked(quad, [a.chunk * row + 4 * part + i for row in FOUR for i in FOUR], a)
                    for quad in quads
                ]
                for i, column in enumerate(self._transposed(picked)):
                    self._store_left(lines.plus("%first_k", a.chunk * chunk + 4 * part + i), "%w", column)

    def _chunks_of_row(self, name: str, operand: Operand, address: str) -> list[str]:
        """Where the chunks of a K-major row lie, one or two."""
        if operand.chunks == 1:
            return self._swizzled(operand, address)
        if operand.swizzle:
            return self._swizzled(operand, address, CHUNK_BYTES)
        return [address, self._lines.value(f"arith.addi {address}, %{name}_leading : i64")]

    def _joined(self, rows: Sequence[str], count: int, kind: str) -> str:
        """Vectors one after the other."""
        while len(rows) > 1:
            pairs = zip(rows[::2], rows[1::2], strict=True)
            rows = [self._lines.shuffle(one, two, range(2 * count), count, kind) for one, two in pairs]
            count *= 2
        return rows[0]

    def _picked(self, quad: str, places: Sequence[int], operand: Operand) -> str:
        """16 elements, in the type that is computed in."""
        lines, kind = self._lines, stored_type(operand.kind)
        one = lines.shuffle(quad, quad, places, 4 * operand.chunk, kind)
        return lines.convert(converted, one, operand.kind, LANES)

    def _pack_columns(self) -> None:
        """16 rows that are neighbours, for each k of a slice."""
        a, lines = self._a, self._lines
        with lines.loop("%k", "%c0", "%slice", "%c1"):
            column = self._column_start("a", a)
            count = LANES // a.chunk
            first = lines.value(f"arith.muli %group, {lines.value(f'arith.constant {count} : i64')} : i64")
            chunks = [
                self._chunk_at(a, self._at_chunk("a", a, column, lines.plus(first, part))) for part in range(count)
            ]
            rows = self._joined(chunks, a.chunk, stored_type(a.kind))
            if not self._in_order:
                order = [q + 4 * t for q in FOUR for t in FOUR]
                rows = lines.shuffle(rows, rows, order, LANES, stored_type(a.kind))
            found = lines.convert(converted, rows, a.kind, LANES)
            self._store_left(lines.value("arith.addi %first_k, %k : i64"), "%w", found)

    def _column_start(self, name: str, operand: Operand) -> str:
        """Where column %k of an MN-major slice begins."""
        lines = self._lines
        far = f"%{name}_stride" if operand.swizzle else f"%{name}_leading"
        high = lines.value(f"arith.constant {atom_rows(operand.swizzle)} : i64")
        line = lines.value(f"arith.remui %k, {high} : i64")
        size = lines.value(f"arith.constant {operand.row_bytes} : i64")
        inside = lines.value(f"arith.muli {line}, {size} : i64")
        atom = lines.value(f"arith.divui %k, {high} : i64")
        outside = lines.value(f"arith.muli {atom}, {far} : i64")
        start = lines.value(f"arith.addi %start, {inside} : i64")
        return lines.value(f"arith.addi {start}, {outside} : i64")

    def _at_chunk(self, name: str, operand: Operand, column: str, number: str) -> str:
        """Where a chunk of rows (its number) of a column lies."""
        lines = self._lines
        if operand.swizzle == 0:
            return lines.value(
                f"arith.addi {column}, {lines.value(f'arith.muli {number}, %{name}_stride : i64')} : i64"
            )
        chunks = lines.value(f"arith.constant {operand.row_bytes // CHUNK_BYTES} : i64")
        inside = lines.value(f"arith.remui {number}, {chunks} : i64")
        inside = lines.value(f"arith.shli {inside}, %c4 : i64")
        atom = lines.value(f"arith.divui {number}, {chunks} : i64")
        outside = lines.value(f"arith.muli {atom}, %{name}_leading : i64")
        start = lines.value(f"arith.addi {column}, {inside} : i64")
        return self._swizzled(operand, lines.value(f"arith.addi {start}, {outside} : i64"))[0]

    def _store_left(self, k: str, warp: str, column: str) -> None:
        lines = self._lines
        at = lines.value(f"arith.addi {lines.value(f'arith.muli {k}, %panel : i64')}, {warp} : i64")
        place = lines.moved("%left", at, self._vector)
        lines.add(f"llvm.store {column}, {place} {{alignment = 64 : i64}} : {self._vector}, !llvm.ptr")

    def _transposed(self, rows: Sequence[str]) -> list[str]:
        """Four vectors, transposed inside each 128 bits."""
        first = [self._interleaved(rows[i], rows[i + 1], (0, 1), high) for high in (0, 1) for i in (0, 2)]
        return [self._interleaved(first[i], first[i + 1], (0, 2), high) for i in (0, 2) for high in (0, 1)]

    def _interleaved(self, one: str, two: str, kind: tuple[int, int], high: int) -> str:
        """The low or the high halves of each 128 bits: elements, or pairs of them, in turn."""
        pairs = kind == (0, 2)
        inside = [0, 1, LANES, LANES + 1] if pairs else [0, LANES, 1, LANES + 1]
        places = [lane + 2 * high + place for lane in range(0, LANES, 4) for place in inside]
        return self._lines.shuffle(one, two, places, LANES, self._kind)

    # B ----------------------------------------------------------------------------------------------------------
    def _convert_columns(self) -> None:
        """Eight columns of the result, one slice along k: as [8][K], or as [K][8] where they are neighbours."""
        b, lines = self._b, self._lines
        lines.add("%first_k = arith.muli %kb, %slice : i64")
        self._slice_start("b")
        if b.major != K_MAJOR:
            with lines.loop("%k", "%c0", "%slice", "%c1"):
                found = lines.convert(converted, self._eight_of_column(), b.kind, ATOM_ROWS)
                k = lines.value("arith.addi %first_k, %k : i64")
                self._store_right(lines.value(f"arith.muli {k}, %c8 : i64"), found, ATOM_ROWS)
            return
        base = lines.value(f"arith.addi %start, {lines.value('arith.muli %j, %b_stride : i64')} : i64")
        for row_of_b in range(ATOM_ROWS):
            count = lines.value(f"arith.constant {row_of_b} : i64")
            row = lines.value(f"arith.addi {lines.value(f'arith.muli {count}, %k_count : i64')}, %first_k : i64")
            for i, place in enumerate(self._chunks_of_row("b", b, lines.plus(base, row_of_b * b.row_bytes))):
                found = lines.convert(converted, self._chunk_at(b, place), b.kind, b.chunk)
                self._store_right(lines.plus(row, i * b.chunk), found, b.chunk)

    def _eight_of_column(self) -> str:
        """Elements 8j to 8j + 7 of column %k of B: half a chunk, one, or two."""
        b, lines = self._b, self._lines
        column = self._column_start("b", b)
        if WIDTHS[b.kind] == 8:
            half = lines.value("arith.andi %j, %c1 : i64")
            number = lines.value("arith.shrui %j, %c1 : i64")
            return self._chunk_at(b, self._at_chunk("b", b, column, number), half)
        count = ATOM_ROWS // b.chunk
        first = lines.value(f"arith.muli %j, {lines.value(f'arith.constant {count} : i64')} : i64")
        chunks = [self._chunk_at(b, self._at_chunk("b", b, column, lines.plus(first, i))) for i in range(count)]
        return self._joined(chunks, b.chunk, stored_type(b.kind))

    def _store_right(self, at: str, found: str, count: int) -> None:
        lines = self._lines
        place = lines.moved("%right", at, self._kind)
        kind = f"vector<{count}x{self._kind}>"
        lines.add(f"llvm.store {found}, {place} {{alignment = 16 : i64}} : {kind}, !llvm.ptr")

    # sums ---------------------------------------------------------------------------------------------------------
    def _multiplied(self, sums: Sequence[str], columns: Sequence[str], step: str) -> list[str]:
        """Over all k."""
        return self._over(("%c0", "%k_count"), sums, columns, step)

    def _over(self, range_: tuple[str, str], sums: Sequence[str], columns: Sequence[str], step: str) -> list[str]:
        """Over a range of k: each vector of A times one number of each column."""
        lines = self._lines
        steps = lines.value(f"arith.constant {_STEPS} : i64")
        with lines.carrying("%k", *range_, steps, sums, self._vector) as totals:
            for i in range(_STEPS):
                k = lines.plus("%k", i)
                at = lines.value(f"arith.addi {lines.value(f'arith.muli {k}, %panel : i64')}, %w : i64")
                left = lines.moved("%left", at, self._vector)
                rows = []
                for warp in range(self._together):
                    place = lines.element(left, warp, self._vector)
                    rows.append(
                        lines.value(f"llvm.load {place} {{alignment = 64 : i64}} : !llvm.ptr -> {self._vector}")
                    )
                away = lines.value(f"arith.muli {k}, {step} : i64")
                for number, column in enumerate(columns):
                    place = lines.moved(column, away, self._kind)
                    one = lines.value(f"llvm.load {place} : !llvm.ptr -> {self._kind}")
                    spread = lines.value(f"vector.broadcast {one} : {self._kind} to {self._vector}")
                    for warp, row in enumerate(rows):
                        at_sum = 4 * warp + number
                        totals[at_sum] = self._added(row, spread, totals[at_sum])
        return lines.carried

    def _added(self, row: str, spread: str, total: str) -> str:
        lines = self._lines
        if not self._whole:
            return lines.value(f"math.fma {row}, {spread}, {total} : {self._vector}")
        return lines.value(
            f"arith.addi {lines.value(f'arith.muli {row}, {spread} : {self._vector}')}, {total} : {self._vector}"
        )
