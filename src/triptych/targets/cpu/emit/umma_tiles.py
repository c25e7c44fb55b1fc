"""UMMA tile functions: each multiplies tiles of shared memory, or A of tensor memory, into tensor memory.

Input: element types, how the factors lie, and the rows of a tile. Output: MLIR text. A column of tensor memory is 128
words, a lane each, so that 16 rows of a column are a vector as they lie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from triptych.kernel_ir.dialects.mma import WIDTHS
from triptych.kernel_ir.dialects.smem_operands import ATOM_ROWS, K_MAJOR
from triptych.kernel_ir.dialects.tensor_memory import LANES as TENSOR_LANES
from triptych.kernel_ir.dialects.tensor_memory import WORD_BITS
from triptych.kernel_ir.dialects.umma import DEPTH_BITS
from triptych.targets.cpu.emit.operand_conversion import converted, stored_type
from triptych.targets.cpu.emit.packed_product import FOUR, LANES, OF_FACTORS, Operand, PackedProduct

PARAMETERS = ("%d: !llvm.ptr", "%accumulate: i1", "%blocks: i64", "%depth: i64", *OF_FACTORS)
"""The word of the first row and column; whether to add; N / 8; slices along k."""
PAIR_PARAMETERS = (
    *(each.replace(":", "_of_first:") if each.startswith(("%d:", "%a:", "%b:")) else each for each in PARAMETERS),
    *("%d_of_second: !llvm.ptr", "%a_of_second: !llvm.ptr", "%b_of_second: !llvm.ptr", "%half: i64"),
)
"""Of a pair of blocks, whose first has the first half of the columns of B, N / 8 of them; how many words further the
sums of the second half are."""
_TOGETHER = 4


def function_name(a: Operand, b: Operand, accumulator: str, rows: int, apart: int, ctas: int) -> str:
    """The function that multiplies one tile of so many rows a block, whose groups of 16 are so many lanes apart."""
    return f"umma.{accumulator}.{a.name}.{b.name}.m{rows}.{apart}.{ctas}"


@cache
def product_function(a: Operand, b: Operand, accumulator: str, rows: int, apart: int, ctas: int, wide: bool) -> str:
    """The function; `wide` where the machine has registers for 256 sums."""
    product = _UmmaProduct(a, b, accumulator, rows // LANES, apart, ctas, _TOGETHER if wide else 1)
    return product.function()


class _UmmaProduct(PackedProduct):
    """All of B is packed once; then A, a panel of rows at a time, which meets all columns while it is in a cache."""

    def __init__(
        self, a: Operand, b: Operand, accumulator: str, groups: int, apart: int, ctas: int, together: int
    ) -> None:
        super().__init__(a, b, accumulator, groups, together, in_order=True)
        self._apart, self._ctas = apart, ctas

    def function(self) -> str:
        lines = self._lines
        lines.add(f"%of_a_block = arith.constant {8 * self._ctas} : i64")
        lines.add("%all_columns = arith.muli %blocks, %of_a_block : i64")
        self._begin("%all_columns", "%all_right")
        self._prepare()
        with self._columns_of_b(), lines.loop("%kb", "%c0", "%depth", "%c1"):
            self._convert_columns()
        some = lines.value(f"arith.constant {self._together} : i64")
        with self._each_block("%block", "d", "a"), lines.loop("%first_group", "%c0", "%groups", "%panel"):
            with lines.loop("%kb", "%c0", "%depth", "%c1"):
                self._pack_slice()
            with self._columns_of_b(), lines.loop("%i", "%c0", "%c8", "%c4"), lines.loop("%w", "%c0", "%panel", some):
                lines.add("%group = arith.addi %first_group, %w : i64")
                self._add_to_columns()
        return self._written()

    def _prepare(self) -> None:
        """What else is done once."""

    def _written(self) -> str:
        rows = LANES * self._groups
        name = function_name(self._a, self._b, self._accumulator, rows, self._apart, self._ctas)
        return self._ended(name, PARAMETERS if self._ctas == 1 else PAIR_PARAMETERS)

    @contextmanager
    def _each_block(self, number: str, *names: str) -> Iterator[None]:
        """Each block of a pair, with its pointers under their names."""
        lines = self._lines
        if self._ctas == 1:
            yield
            return
        with lines.loop(number, "%c0", "%c2", "%c1"):
            first = lines.value(f"arith.cmpi eq, {number}, %c0 : i64")
            for name in names:
                lines.add(f"%{name} = arith.select {first}, %{name}_of_first, %{name}_of_second : !llvm.ptr")
            yield

    @contextmanager
    def _columns_of_b(self) -> Iterator[None]:
        """Eight at a time, of each half, the packed ones as %right."""
        lines = self._lines
        with self._each_block("%second", "b"), lines.loop("%j", "%c0", "%blocks", "%c1"):
            number = "%j"
            if self._ctas == 2:
                number = lines.value(f"arith.addi {lines.value('arith.muli %second, %blocks : i64')}, %j : i64")
            columns = lines.value(f"arith.muli {number}, %c8 : i64")
            before = lines.value(f"arith.muli {columns}, %k_count : i64")
            lines.add(f"%right = llvm.getelementptr %all_right[{before}] : (!llvm.ptr, i64) -> !llvm.ptr, {self._kind}")
            yield

    def _pack_columns(self) -> None:
        """Where A is in tensor memory: the words of 16 lanes in each of its columns, from the lowest bits on."""
        if self._a.major is not None:
            super()._pack_columns()
            return
        lines, width = self._lines, WIDTHS[self._a.kind]
        words, parts = f"vector<{LANES}xi32>", WORD_BITS // width
        stored = stored_type(self._a.kind)
        bits, narrow = f"vector<{LANES}xi{width}>", f"vector<{LANES}x{stored}>"
        pointer = lines.value("llvm.inttoptr %start : i64 to !llvm.ptr")
        apart = lines.value(f"arith.constant {self._apart} : i64")
        first = lines.moved(pointer, lines.value(f"arith.muli %group, {apart} : i64"), "i32")
        for column in range(DEPTH_BITS // WORD_BITS):
            place = lines.element(first, TENSOR_LANES * column, "i32")
            word = lines.value(f"llvm.load {place} {{alignment = 64 : i64}} : !llvm.ptr -> {words}")
            for part in range(parts):
                one = word
                if part:
                    away = lines.value(f"arith.constant dense<{width * part}> : {words}")
                    one = lines.value(f"arith.shrui {word}, {away} : {words}")
                if parts > 1:
                    one = lines.value(f"arith.trunci {one} : {words} to {bits}")
                if stored != f"i{width}":
                    one = lines.value(f"arith.bitcast {one} : {bits} to {narrow}")
                found = lines.convert(converted, one, self._a.kind, LANES)
                self._store_left(lines.plus("%first_k", parts * column + part), "%w", found)

    def _add_to_columns(self) -> None:
        """To the four columns from 8j + i on."""
        lines = self._lines
        per_column, step = ("%k_count", "%c1") if self._b.major == K_MAJOR else ("%c1", "%c8")
        factors = []
        for i in FOUR:
            away = lines.value(f"arith.muli {lines.plus('%i', i)}, {per_column} : i64")
            factors.append(lines.moved("%right", away, self._kind))
        first = lines.value(f"arith.addi {lines.value('arith.muli %j, %c8 : i64')}, %i : i64")
        places = [self._place(lines.plus(first, i), group) for group in range(self._together) for i in FOUR]
        totals = self._multiplied([self._loaded(place) for place in places], factors, step)
        for place, total in zip(places, totals, strict=True):
            self._store(place, total)

    def _place(self, column: str, group: int) -> str:
        """Where 16 rows of a column of this half are."""
        lines = self._lines
        size = lines.value(f"arith.constant {TENSOR_LANES} : i64")
        apart = lines.value(f"arith.constant {self._apart} : i64")
        rows = lines.value(f"arith.muli {lines.plus('%group', group)}, {apart} : i64")
        word = lines.value(f"arith.addi {lines.value(f'arith.muli {column}, {size} : i64')}, {rows} : i64")
        if self._ctas == 2:
            word = lines.value(f"arith.addi {word}, {lines.value('arith.muli %second, %half : i64')} : i64")
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
    kind = _ScaledByExponents if scale == "ue8m0" else _ScaledProduct
    return kind(a, b, scale, vector, _TOGETHER if wide else 1).function()


class _ScaledProduct(_UmmaProduct):
    """Products of a block are added from zero; the sum times both scales is added with one rounding."""

    _number = "f32"
    """The type of scales in memory."""

    def __init__(self, a: Operand, b: Operand, scale: str, vector: int, together: int) -> None:
        super().__init__(a, b, "f32", TENSOR_LANES // LANES, LANES, 1, together)
        self._scale, self._block = scale, vector

    def _prepare(self) -> None:
        """All scales as numbers: of rows [k][128], of columns [eight][k][8]."""
        lines = self._lines
        lines.add(f"%block_size = arith.constant {self._block} : i64")
        lines.add("%blocks_of_k = arith.divui %k_count, %block_size : i64")
        lines.add("%blocks_of_slice = arith.divui %slice, %block_size : i64")
        lines.add(f"%all_rows = arith.constant {TENSOR_LANES} : i64")
        for name, count in (("left", "%all_rows"), ("right", "%all_columns")):
            lines.add(f"%{name}_room = arith.muli %blocks_of_k, {count} : i64")
            allocated = f"llvm.alloca %{name}_room x f32 {{alignment = 64 : i64}} : (i64) -> !llvm.ptr"
            lines.add(f"%{name}_scales = {allocated}")
        with lines.loop("%kb", "%c0", "%blocks_of_k", "%c1"), lines.loop("%w", "%c0", "%groups", "%c1"):
            self._left_scales()
        with lines.loop("%j", "%c0", "%blocks", "%c1"), lines.loop("%kb", "%c0", "%blocks_of_k", "%c1"):
            self._right_scales()

    def _written(self) -> str:
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
        to = lines.moved("%right_scales", self._right_scale(), "f32")
        self._scales("b", column, lane, ATOM_ROWS, to)

    def _right_scale(self) -> str:
        """The number of the first scale of block %kb of columns 8j on."""
        lines = self._lines
        before = lines.value(f"arith.addi {lines.value('arith.muli %j, %blocks_of_k : i64')}, %kb : i64")
        return lines.value(f"arith.muli {before}, %c8 : i64")

    def _scales(self, name: str, column: str, lane: str, count: int, to: str) -> None:
        """Those of block %kb, as numbers."""
        lines, words, small = self._lines, f"vector<{count}xi32>", f"vector<{count}xi8>"
        size = lines.value(f"arith.constant {TENSOR_LANES} : i64")
        word = lines.value(f"arith.addi {lines.value(f'arith.muli {column}, {size} : i64')}, {lane} : i64")
        further, byte = self._word_and_byte(name)
        word = lines.value(f"arith.addi {word}, {lines.value(f'arith.extsi {further} : i32 to i64')} : i64")
        place = lines.moved(f"%sf{name}", word, "i32")
        found = lines.value(f"llvm.load {place} {{alignment = 32 : i64}} : !llvm.ptr -> {words}")
        away = lines.value(f"arith.shli {byte}, {lines.value('arith.constant 3 : i32')} : i32")
        spread = lines.value(f"vector.broadcast {away} : i32 to {words}")
        shifted = lines.value(f"arith.shrui {found}, {spread} : {words}")
        self._store_scales(name, lines.value(f"arith.trunci {shifted} : {words} to {small}"), count, to)

    def _store_scales(self, name: str, scales: str, count: int, to: str) -> None:
        numbers = self._lines.convert(converted, scales, self._scale, count)
        self._lines.add(f"llvm.store {numbers}, {to} {{alignment = 32 : i64}} : vector<{count}xf32>, !llvm.ptr")

    def _word_and_byte(self, name: str) -> tuple[str, str]:
        """Of block %kb: how many words further its scales are, and which byte of them."""
        lines = self._lines
        slice_ = lines.value("arith.divui %kb, %blocks_of_slice : i64")
        entry = lines.moved(f"%sf{name}_table", lines.value(f"arith.muli {slice_}, %c2 : i64"), "i32")
        further = lines.value(f"llvm.load {entry} : !llvm.ptr -> i32")
        more = lines.value(f"llvm.load {lines.element(entry, 1, 'i32')} : !llvm.ptr -> i32")
        number = lines.value("arith.remui %kb, %blocks_of_slice : i64")
        number = lines.value(f"arith.trunci {number} : i64 to i32")
        return further, lines.value(
            f"arith.addi {lines.value(f'arith.addi {number}, {more} : i32')}, %sf{name}_byte : i32"
        )

    def _multiplied(self, sums: Sequence[str], columns: Sequence[str], step: str) -> list[str]:
        """Block after block."""
        lines = self._lines
        zero = lines.value(f"arith.constant dense<0.0> : {self._vector}")
        with lines.carrying("%kb", "%c0", "%blocks_of_k", "%c1", sums, self._vector) as totals:
            lines.add("%first_of_block = arith.muli %kb, %block_size : i64")
            lines.add("%end_of_block = arith.addi %first_of_block, %block_size : i64")
            found = self._over(("%first_of_block", "%end_of_block"), [zero] * len(sums), columns, step)
            at = lines.value(f"arith.addi {lines.value('arith.muli %kb, %groups : i64')}, %group : i64")
            left = lines.moved("%left_scales", at, self._vector)
            first = lines.value(f"arith.addi {self._right_scale()}, %i : i64")
            right = lines.moved("%right_scales", first, "f32")
            rows = [self._scales_at(lines.element(left, i, self._vector)) for i in range(self._together)]
            spreads = []
            for number in FOUR:
                one = lines.value(
                    f"llvm.load {lines.element(right, number, self._number)} : !llvm.ptr -> {self._number}"
                )
                spreads.append(
                    lines.value(f"vector.broadcast {one} : {self._number} to vector<{LANES}x{self._number}>")
                )
            totals[:] = self._scaled(found, rows, spreads, totals)
        return lines.carried

    def _scales_at(self, place: str) -> str:
        return self._lines.value(f"llvm.load {place} : !llvm.ptr -> vector<{LANES}x{self._number}>")

    def _scaled(
        self, found: Sequence[str], rows: Sequence[str], columns: Sequence[str], totals: Sequence[str]
    ) -> list[str]:
        """The totals with the sums of a block."""
        lines = self._lines
        scales = [lines.value(f"arith.mulf {row}, {column} : {self._vector}") for row in rows for column in columns]
        return self._added_to(totals, found, scales)

    def _added_to(self, totals: Sequence[str], found: Sequence[str], scales: Sequence[str]) -> list[str]:
        three = zip(found, scales, totals, strict=True)
        return [self._lines.value(f"math.fma {one}, {by}, {total} : {self._vector}") for one, by, total in three]


class _ScaledByExponents(_ScaledProduct):
    """Scales that are powers of two: their exponents are added, because the product of small ones is subnormal, which
    costs a processor a hundred times as much. Scales are 2**23 too large and sums as much too small, so that 2**-149,
    the smallest number, is a normal one; below it is zero. Products that are too large then are those of numbers."""

    _number = "i32"

    def _prepare(self) -> None:
        lines = self._lines
        for name in "ab":
            lines.add(f"%largest_{name} = llvm.alloca %c1 x i32 : (i64) -> !llvm.ptr")
            lines.add(f"llvm.store {lines.value('arith.constant 0 : i32')}, %largest_{name} : i32, !llvm.ptr")
        super()._prepare()
        both = [lines.value(f"llvm.load %largest_{name} : !llvm.ptr -> i32") for name in "ab"]
        limit = lines.value(f"arith.constant {_INFINITE + _BIAS} : i32")
        lines.add(f"%large = arith.cmpi sge, {lines.value(f'arith.addi {both[0]}, {both[1]} : i32')}, {limit} : i32")

    def _store_left(self, k: str, warp: str, column: str) -> None:
        lines = self._lines
        small = lines.value(f"arith.constant dense<{2.0**-_MANTISSA!r}> : {self._vector}")
        super()._store_left(k, warp, lines.value(f"arith.mulf {column}, {small} : {self._vector}"))

    def _store_scales(self, name: str, scales: str, count: int, to: str) -> None:
        """The bits that are added; and the largest of all, where what is no number is very large."""
        lines, kind = self._lines, f"vector<{count}xi32>"
        exponents = lines.value(f"arith.extui {scales} : vector<{count}xi8> to {kind}")
        nan = lines.value(f"arith.constant dense<{_INFINITE}> : {kind}")
        twice = lines.value(f"arith.addi {exponents}, {nan} : {kind}")
        is_nan = lines.value(f"arith.cmpi eq, {exponents}, {nan} : {kind}")
        sizes = lines.value(f"arith.select {is_nan}, {twice}, {exponents} : vector<{count}xi1>, {kind}")
        largest = lines.value(f"vector.reduction <maxsi>, {sizes} : {kind} into i32")
        before = lines.value(f"llvm.load %largest_{name} : !llvm.ptr -> i32")
        largest = lines.value(f"arith.maxsi {largest}, {before} : i32")
        lines.add(f"llvm.store {largest}, %largest_{name} : i32, !llvm.ptr")
        bias = lines.value(f"arith.constant dense<{_BIAS if name == 'a' else 0}> : {kind}")
        bits = lines.value(f"arith.constant dense<{_MANTISSA}> : {kind}")
        stored = lines.value(f"arith.shli {lines.value(f'arith.subi {exponents}, {bias} : {kind}')}, {bits} : {kind}")
        lines.add(f"llvm.store {stored}, {to} {{alignment = 32 : i64}} : {kind}, !llvm.ptr")

    def _scaled(
        self, found: Sequence[str], rows: Sequence[str], columns: Sequence[str], totals: Sequence[str]
    ) -> list[str]:
        lines, kinds = self._lines, ", ".join([self._vector] * len(totals))
        words, result = f"vector<{LANES}xi32>", self._lines.name()
        lines.add(f"{result}:{len(totals)} = scf.if %large -> ({kinds}) {{")
        large = lines.value(f"arith.constant dense<{2.0**_MANTISSA!r}> : {self._vector}")
        sums = [lines.value(f"arith.mulf {one}, {large} : {self._vector}") for one in found]
        numbers = [self._as_numbers(row, _BIAS) for row in rows], [self._as_numbers(one, 0) for one in columns]
        lines.add(f"scf.yield {', '.join(super()._scaled(sums, *numbers, totals))} : {kinds}")
        lines.add("} else {")
        zero = lines.value(f"arith.constant dense<0> : {words}")
        scales = []
        for row in rows:
            for column in columns:
                bits = lines.value(f"arith.addi {row}, {column} : {words}")
                bits = lines.value(f"arith.maxsi {bits}, {zero} : {words}")
                scales.append(lines.value(f"arith.bitcast {bits} : {words} to {self._vector}"))
        lines.add(f"scf.yield {', '.join(self._added_to(totals, found, scales))} : {kinds}")
        lines.add("}")
        return [f"{result}#{i}" for i in range(len(totals))]

    def _as_numbers(self, stored: str, bias: int) -> str:
        lines, words = self._lines, f"vector<{LANES}xi32>"
        bits = lines.value(f"arith.constant dense<{_MANTISSA}> : {words}")
        more = lines.value(f"arith.constant dense<{bias}> : {words}")
        exponents = lines.value(
            f"arith.addi {lines.value(f'arith.shrsi {stored}, {bits} : {words}')}, {more} : {words}"
        )
        small = lines.value(f"arith.trunci {exponents} : {words} to vector<{LANES}xi8>")
        return lines.convert(converted, small, self._scale, LANES)


_MANTISSA = 23
"""Bits of an f32 below its exponent."""
_INFINITE = 255
"""The exponent that no number has."""
_BIAS = 127 - _MANTISSA
"""Of the sum of two exponents, which has that of one too many."""


# K = 96: three slices of one chunk, which may end in a second buffer --------------------------------------------------
LONG_PARAMETERS = (*SCALED_PARAMETERS, "%a_second: i32", "%b_second: i32")
"""How many bytes further the second buffers are. The tables of scales have one number: how many words further the next
four blocks are."""


def long_function_name(a: Operand, b: Operand, scale: str, vector: int) -> str:
    """The function that multiplies one instruction's 128 rows, 96 elements of each."""
    return f"{scaled_function_name(a, b, scale, vector)}.long"


@cache
def long_product_function(a: Operand, b: Operand, scale: str, vector: int, wide: bool) -> str:
    """The function; `wide` where the machine has registers for 256 sums."""
    kind = _LongByExponents if scale == "ue8m0" else _LongScaled
    return kind(a, b, scale, vector, _TOGETHER if wide else 1).function()


class _LongScaled(_ScaledProduct):
    def _written(self) -> str:
        return self._ended(long_function_name(self._a, self._b, self._scale, self._block), LONG_PARAMETERS)

    def _slice_start(self, name: str) -> None:
        """Chunk %kb after the first one: beyond the end of the row it is at the beginning of the second buffer's."""
        lines = self._lines
        lines.add(f"%memory = llvm.ptrtoint %{name} : !llvm.ptr to i64")
        away = lines.value("arith.shli %kb, %c4 : i64")
        here = lines.value(f"arith.addi %memory, {away} : i64")
        row = lines.value(f"arith.constant {(self._a if name == 'a' else self._b).row_bytes} : i64")
        inside = lines.value(f"arith.andi %memory, {lines.value(f'arith.subi {row}, %c1 : i64')} : i64")
        place = lines.value(f"arith.addi {inside}, {away} : i64")
        second = lines.value(f"arith.addi %memory, {lines.value(f'arith.extsi %{name}_second : i32 to i64')} : i64")
        there = lines.value(f"arith.addi {second}, {lines.value(f'arith.subi {place}, {row} : i64')} : i64")
        is_here = lines.value(f"arith.cmpi ult, {place}, {row} : i64")
        lines.add(f"%start = arith.select {is_here}, {here}, {there} : i64")

    def _word_and_byte(self, name: str) -> tuple[str, str]:
        """Blocks go on in the next word after the byte of the first one."""
        lines = self._lines
        number = lines.value(f"arith.addi {lines.value('arith.trunci %kb : i64 to i32')}, %sf{name}_byte : i32")
        step = lines.value(f"llvm.load %sf{name}_table : !llvm.ptr -> i32")
        two, three = (lines.value(f"arith.constant {count} : i32") for count in (2, 3))
        words = lines.value(f"arith.shrui {number}, {two} : i32")
        return lines.value(f"arith.muli {words}, {step} : i32"), lines.value(f"arith.andi {number}, {three} : i32")


class _LongByExponents(_LongScaled, _ScaledByExponents):
    """Scales that are powers of two."""
