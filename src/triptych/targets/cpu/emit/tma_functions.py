"""TMA copy functions: one for each tile size, size of elements, swizzle and direction.

Input: what a copy is. Output: a function as MLIR text, which takes a tensor map, an address of shared memory and the
coordinates of the box' first element, and gives the bytes of the box. A map is words of this target's own: the base,
the extents of five dimensions, the byte strides of the last four, and what a box is, for copies that do not know it:
the extents in 16 bits each, the size of elements, and the swizzle's mask and lowest bit.

A box is copied row by row. A row that lies inside the tensor goes straight from one memory to the other, in pieces of
16 bytes where a swizzle keeps no more together; one that does not is put together in a buffer. The swizzle is one of
addresses, so shared memory begins at a multiple of its largest pattern (1024 bytes).
"""

from __future__ import annotations

from functools import cache
from string import Template

from triptych.kernel_ir.dialects.smem_operands import byte_swizzle
from triptych.kernel_ir.dialects.tensor_maps import MOST_DIMENSIONS, MOST_EXTENT, PIECE
from triptych.kernel_ir.dialects.tile import TENSOR_MAP_BYTES
from triptych.ranks.addresses import BASE, COUNT_WORD, MULTICAST, WINDOW
from triptych.support.dataclass import dataclass

EXTENTS, STRIDES = 1, 1 + MOST_DIMENSIONS
"""The words of a map in which they begin; the base is word 0, and the first stride that of the second dimension."""
BOX = 2 * MOST_DIMENSIONS
"""The word in which the extents of a box begin, four to a word; the size of elements and the swizzle follow."""
SIZE, SWIZZLE = BOX + 2, BOX + 3
MOST_ROW_BYTES = MOST_EXTENT * 8
LOAD, STORE = "load", "store"
_ROW = 128
"""Bytes of shared memory that are a line of a swizzle's pattern."""
_CACHE_LINE, _LONG_ROW, _ROWS_AHEAD = 64, 256, 8
"""Bytes of the machine's own lines, of rows that it prefetches by itself, and how many rows ahead others are."""


@dataclass(frozen=True, slots=True)
class BoxCopy:
    """What a function copies."""

    kind: str
    """`load`, `store`, or how elements are joined with those in global memory."""
    box: tuple[int, ...]
    """Its extents; zeros where only the map knows them."""
    element_bytes: int
    swizzle: int
    element: str = ""
    """The type of elements that are computed with, as maps say it."""

    @property
    def row_bytes(self) -> int:
        return self.box[0] * self.element_bytes

    @property
    def is_known(self) -> bool:
        return all(self.box)

    @property
    def name(self) -> str:
        shape = "x".join(map(str, self.box))
        return f"box.{self.kind}{self.element}.{shape}.of{self.element_bytes}.swizzle{self.swizzle}"


_ON_ALL_RANKS = Template("""
func.func private @"$name.everywhere"(%map: !llvm.ptr, %shared: !llvm.ptr, $coordinates) -> i64
    attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %one = arith.constant 1 : i64
  %start = arith.constant $multicast : i64
  %window = arith.constant $window : i64
  %base = llvm.load %map {alignment = 8 : i64} : !llvm.ptr -> i64
  %word_address = arith.constant $count : i64
  %within = arith.subi %base, %start : i64
  %for_all = arith.cmpi ult, %within, %window : i64
  %total = scf.if %for_all -> i64 {
    %zero = arith.constant 0 : i64
    %words = llvm.inttoptr %word_address : i64 to !llvm.ptr
    %ranks = llvm.load %words {alignment = 8 : i64} : !llvm.ptr -> i64
    %copy = llvm.alloca %one x !llvm.array<$map_words x i64> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %facts = llvm.load %map {alignment = 8 : i64} : !llvm.ptr -> vector<${map_words}xi64>
    llvm.store %facts, %copy {alignment = 8 : i64} : vector<${map_words}xi64>, !llvm.ptr
    %bytes = scf.for %rank = %zero to %ranks step %one iter_args(%before = %zero) -> i64 : i64 {
      %following = arith.addi %rank, %one : i64
      %distance = arith.muli %following, %window : i64
      %there = arith.addi %base, %distance : i64
      llvm.store %there, %copy {alignment = 8 : i64} : i64, !llvm.ptr
      %stored = func.call @"$name"(%copy, %shared, $operands) : (!llvm.ptr, !llvm.ptr, $types) -> i64
      scf.yield %stored : i64
    }
    scf.yield %bytes : i64
  } else {
    %bytes = func.call @"$name"(%map, %shared, $operands) : (!llvm.ptr, !llvm.ptr, $types) -> i64
    scf.yield %bytes : i64
  }
  func.return %total : i64
}""")
_FUNCTION = Template("""
func.func private @"$name"(%map: !llvm.ptr, %shared: !llvm.ptr, $coordinates) -> i64
    attributes {llvm.passthrough = ["noinline", "nounwind"]} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %yes = arith.constant true
  $facts
  %row_bytes = arith.muli %box0, %size : i64
  %buffer = llvm.alloca %one x !llvm.array<$buffer_bytes x i8> {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %base = llvm.load %map {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
  $words
  %before = arith.subi %zero, %x0 : i64
  %lower = arith.maxsi %before, %zero : i64
  %after = arith.subi %extent0, %x0 : i64
  %upper = arith.minsi %after, %box0 : i64
  %starts_inside = arith.cmpi eq, %lower, %zero : i64
  %ends_inside = arith.cmpi eq, %upper, %box0 : i64
  %whole = arith.andi %starts_inside, %ends_inside : i1
  %some = arith.cmpi slt, %lower, %upper : i64
  %count = arith.subi %upper, %lower : i64
  %part_bytes = arith.muli %count, %size : i64
  %skipped = arith.muli %lower, %size : i64
  %offset$rank = arith.muli %x0, %size : i64
  %inside$rank = arith.andi %yes, %yes : i1
  %row$rank = arith.addi %zero, %zero : i64
  $loops
  $total
  func.return %total : i64
}""")
_WORDS = Template("""
  %x$i = arith.extsi %corner$i : i32 to i64
  %extent_at$i = llvm.getelementptr %map[$extent] : (!llvm.ptr) -> !llvm.ptr, i64
  %extent$i = llvm.load %extent_at$i {alignment = 8 : i64} : !llvm.ptr -> i64""")
_STRIDE = Template("""
  %stride_at$i = llvm.getelementptr %map[$place] : (!llvm.ptr) -> !llvm.ptr, i64
  %stride$i = llvm.load %stride_at$i {alignment = 8 : i64} : !llvm.ptr -> i64""")
_KNOWN = Template("""
  %$name = arith.constant $value : i64""")
_ASKED = Template("""
  %${name}_at = llvm.getelementptr %map[$place] : (!llvm.ptr) -> !llvm.ptr, $type
  %${name}_word = llvm.load %${name}_at {alignment = 2 : i64} : !llvm.ptr -> $type
  %$name = arith.extui %${name}_word : $type to i64""")
_PIECES = Template("""
  %piece$n = arith.constant 16 : i64
  scf.for %begin$n = %zero to %row_bytes step %piece$n : i64 {
    %linear$n = arith.addi %number, %begin$n : i64
    %c7$n = arith.constant 7 : i64
    %rows_before$n = arith.shrui %linear$n, %c7$n : i64
    %field$n = arith.andi %rows_before$n, %swizzle_mask : i64
    %moved$n = arith.shli %field$n, %swizzle_base : i64
    %where$n = arith.xori %linear$n, %moved$n : i64
    %there$n = llvm.inttoptr %where$n : i64 to !llvm.ptr
    %here$n = llvm.getelementptr $linear[%begin$n] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %value$n = llvm.load %here$n {alignment = 1 : i64} : !llvm.ptr -> vector<4xi32>
    llvm.store %value$n, %there$n {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr
  }""")
_LOOP = Template("""
  scf.for %i$i = %zero to %box$i step %one : i64 {
    %at$i = arith.addi %x$i, %i$i : i64
    %fits$i = arith.cmpi ult, %at$i, %extent$i : i64
    %inside$i = arith.andi %inside$outer, %fits$i : i1
    %distance$i = arith.muli %at$i, %stride$i : i64
    %offset$i = arith.addi %offset$outer, %distance$i : i64
    %rows$i = arith.muli %row$outer, %box$i : i64
    %row$i = arith.addi %rows$i, %i$i : i64
    $body
  }""")
_ROWS = Template("""
    %source = llvm.getelementptr %base[%offset1] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %place = arith.muli %row1, %row_bytes : i64
    %line = llvm.getelementptr %shared[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %number = llvm.ptrtoint %line : !llvm.ptr to i64
    $ahead
    %straight = arith.andi %inside1, %whole : i1
    %partly = arith.andi %inside1, %some : i1
    scf.if %straight {
      $whole_row
    } else {
      $part_of_row
    }""")
_COPY_BYTES = Template(
    '"llvm.intr.memcpy"($target, $source, $count) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()\n'
)
_PART_LOADED = Template("""
      %nothing = arith.constant 0 : i8
      "llvm.intr.memset"(%buffer, %nothing, %row_bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
      scf.if %partly {
        %first = llvm.getelementptr %source[%skipped] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        %there = llvm.getelementptr %buffer[%skipped] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        $copy
      }
      $row""")
_PART_STORED = Template("""
      scf.if %partly {
        $row
        %first = llvm.getelementptr %source[%skipped] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        %there = llvm.getelementptr %buffer[%skipped] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        $copy
      }""")
_REDUCED = Template("""
      scf.if %partly {
        scf.for %j = %lower to %upper step %one : i64 {
          %within = arith.muli %j, %size : i64
          %plain = arith.addi %number, %within : i64
          $permuted
          %from = llvm.inttoptr %where : i64 to !llvm.ptr
          %to = llvm.getelementptr %source[%within] : (!llvm.ptr, i64) -> !llvm.ptr, i8
          %value = llvm.load %from {alignment = $size : i64} : !llvm.ptr -> $type
          %old = llvm.atomicrmw $kind %to, %value monotonic {alignment = $size : i64} : !llvm.ptr, $type
        }
      }""")
_PERMUTED = Template("""
  %c7$n = arith.constant 7 : i64
  %lowest$n = arith.constant $base : i64
  %mask$n = arith.constant $mask : i64
  %rows_before$n = arith.shrui $plain, %c7$n : i64
  %field$n = arith.andi %rows_before$n, %mask$n : i64
  %moved$n = arith.shli %field$n, %lowest$n : i64
  $result = arith.xori $plain, %moved$n : i64""")
_PIECE_BY_ITSELF = Template("""
  %begin$n = arith.constant $begin : i64
  %linear$n = arith.addi %number, %begin$n : i64
  $permuted
  %apart$n = arith.subi %where$n, %number : i64""")
_PIECE = Template("""
  $place
  %there$n = llvm.getelementptr %line[%apart$n] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %here$n = llvm.getelementptr $linear[$begin] : (!llvm.ptr) -> !llvm.ptr, i8
  %value$n = llvm.load $source {alignment = $aligned_source : i64} : !llvm.ptr -> vector<4xi32>
  llvm.store %value$n, $target {alignment = $aligned_target : i64} : vector<4xi32>, !llvm.ptr""")

_LINE = Template("""
  %c7 = arith.constant 7 : i64
  %swizzle_base = arith.constant $base : i64
  %mask = arith.constant $mask : i64
  %inside_line = arith.constant $inside : i64
  %low = arith.andi %number, %inside_line : i64
  %rows_before = arith.shrui %number, %c7 : i64
  %field = arith.andi %rows_before, %mask : i64
  %moved = arith.shli %field, %swizzle_base : i64""")
_PIECE_OF_LINE = Template("""
  %begin$n = arith.constant $begin : i64
  %linear$n = arith.ori %low, %begin$n : i64
  %where$n = arith.xori %linear$n, %moved : i64
  %apart$n = arith.subi %where$n, %low : i64""")
_AHEAD = Template("""
    %ahead = arith.constant $rows : i64
    %distance_ahead = arith.muli %ahead, %stride1 : i64
    %row_ahead = llvm.getelementptr %source[%distance_ahead] : (!llvm.ptr, i64) -> !llvm.ptr, i8""")
_ASK_FOR_LINE = Template("""
    %line_ahead$n = llvm.getelementptr %row_ahead[$begin] : (!llvm.ptr) -> !llvm.ptr, i8
    "llvm.intr.prefetch"(%line_ahead$n) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()""")

_INTEGER_KINDS = {"add": "add", "inc": "uinc_wrap", "dec": "udec_wrap", "and": "_and", "or": "_or", "xor": "_xor"}
_FLOATS = {"f16": "f16", "bf16": "bf16", "f32": "f32", "tf32": "f32", "f64": "f64"}


@cache
def box_function(copy: BoxCopy) -> str:
    """The function of that name."""
    rank = len(copy.box)
    body = _rows(copy)
    for i in range(1, rank):
        body = _LOOP.substitute(i=i, outer=i + 1, body=body)
    words = "".join(_WORDS.substitute(i=i, extent=EXTENTS + i) for i in range(rank))
    words += "".join(_STRIDE.substitute(i=i, place=STRIDES + i - 1) for i in range(1, rank))
    return _FUNCTION.substitute(
        name=copy.name,
        coordinates=", ".join(f"%corner{i}: i32" for i in range(rank)),
        facts=_facts(copy),
        buffer_bytes=copy.row_bytes or MOST_ROW_BYTES,
        words=words,
        rank=rank,
        loops=body,
        total=_total(rank),
    )


@cache
def box_function_everywhere(copy: BoxCopy) -> str:
    """And one beside it for a map whose tensor may be one that stands for all GPUs: then each of them is written."""
    numbers = range(len(copy.box))
    return box_function(copy) + _ON_ALL_RANKS.substitute(
        name=copy.name,
        multicast=MULTICAST,
        window=WINDOW,
        count=BASE + 8 * COUNT_WORD,
        map_words=TENSOR_MAP_BYTES // 8,
        coordinates=", ".join(f"%corner{i}: i32" for i in numbers),
        operands=", ".join(f"%corner{i}" for i in numbers),
        types=", ".join("i32" for _ in numbers),
    )


def _facts(copy: BoxCopy) -> str:
    """What a box is: constants, or what the map says."""
    if copy.is_known:
        named = {"size": copy.element_bytes, **{f"box{i}": extent for i, extent in enumerate(copy.box)}}
        return "".join(_KNOWN.substitute(name=name, value=value) for name, value in named.items())
    asked = "".join(_ASKED.substitute(name=f"box{i}", place=4 * BOX + i, type="i16") for i in range(len(copy.box)))
    asked += _ASKED.substitute(name="size", place=4 * SIZE, type="i16")
    for word, name in enumerate(("swizzle_mask", "swizzle_base"), SWIZZLE):
        asked += _ASKED.substitute(name=name, place=4 * word, type="i16")
    return asked


def swizzle_bits(number: int) -> dict[str, int]:
    """The bits of the number of 128 bytes that are exclusive-ored into their addresses, and from which bit on."""
    swizzle = byte_swizzle(number)
    return {"mask": (1 << swizzle.bits) - 1, "base": swizzle.base}


def _total(rank: int) -> str:
    """The bytes of a box."""
    lines = ["%total0 = arith.addi %row_bytes, %zero : i64"]
    lines += [f"%total{i} = arith.muli %total{i - 1}, %box{i} : i64" for i in range(1, rank)]
    return "\n  ".join([*lines, f"%total = arith.addi %total{rank - 1}, %zero : i64"])


def _rows(copy: BoxCopy) -> str:
    if copy.kind == LOAD:
        whole, part = _row(copy, "%source", loads=True), _part_loaded(copy)
    elif copy.kind == STORE:
        whole, part = _row(copy, "%source", loads=False), _part_stored(copy)
    else:
        whole, part = _reduced(copy), _reduced(copy)
    return _ROWS.substitute(whole_row=whole, part_of_row=part, ahead=_ahead(copy))


def _part_loaded(copy: BoxCopy) -> str:
    moved = _COPY_BYTES.substitute(target="%there", source="%first", count="%part_bytes")
    return _PART_LOADED.substitute(copy=moved, row=_row(copy, "%buffer", loads=True))


def _part_stored(copy: BoxCopy) -> str:
    moved = _COPY_BYTES.substitute(target="%first", source="%there", count="%part_bytes")
    return _PART_STORED.substitute(copy=moved, row=_row(copy, "%buffer", loads=False))


def _row(copy: BoxCopy, linear: str, *, loads: bool) -> str:
    """A row between a line of shared memory and memory in which it lies as it is."""
    if not copy.is_known:
        assert loads, "who stores knows the box"
        return _PIECES.substitute(n="0", linear=linear)
    if not copy.swizzle:
        source, target = (linear, "%line") if loads else ("%line", linear)
        return _COPY_BYTES.substitute(target=target, source=source, count="%row_bytes")
    pieces = "".join(_piece(copy, n, linear, loads) for n in range(copy.row_bytes // PIECE))
    if not _in_one_line(copy):
        return pieces
    # What comes before a row in its line is a multiple of the row: nothing where a row is a line.
    inside = _ROW - copy.row_bytes
    return _LINE.substitute(inside=inside, **swizzle_bits(copy.swizzle)) + pieces


def _in_one_line(copy: BoxCopy) -> bool:
    """Whether a row never lies in two lines of the swizzle's pattern, which move differently."""
    return _ROW % copy.row_bytes == 0


def _ahead(copy: BoxCopy) -> str:
    """Ask for a later row while this one is copied: short rows are far apart, and no machine sees their order."""
    if copy.kind != LOAD or len(copy.box) < 2 or not copy.is_known or copy.row_bytes > _LONG_ROW:
        return ""
    lines = "".join(
        _ASK_FOR_LINE.substitute(n=n, begin=end) for n, end in enumerate(range(copy.row_bytes - 1, -1, -_CACHE_LINE))
    )
    return _AHEAD.substitute(rows=_ROWS_AHEAD) + lines


def _piece(copy: BoxCopy, n: int, linear: str, loads: bool) -> str:
    there, here = f"%there{n}", f"%here{n}"
    if _in_one_line(copy):
        place = _PIECE_OF_LINE.substitute(n=n, begin=n * PIECE)
    else:
        permuted = _permuted(copy, f"%linear{n}", f"%where{n}", str(n))
        place = _PIECE_BY_ITSELF.substitute(n=n, begin=n * PIECE, permuted=permuted)
    # Global memory is aligned to the elements that its rows begin with, which coordinates count.
    alignments = (copy.element_bytes, PIECE) if loads else (PIECE, copy.element_bytes)
    return _PIECE.substitute(
        n=n,
        begin=n * PIECE,
        place=place,
        linear=linear,
        source=here if loads else there,
        target=there if loads else here,
        aligned_source=alignments[0],
        aligned_target=alignments[1],
    )


def _permuted(copy: BoxCopy, plain: str, result: str, n: str) -> str:
    return _PERMUTED.substitute(n=n, plain=plain, result=result, **swizzle_bits(copy.swizzle))


def _reduced(copy: BoxCopy) -> str:
    float_type = _FLOATS.get(copy.element)
    kind = _reduction(copy.kind, copy.element, float_type is not None)
    return _REDUCED.substitute(
        permuted=_permuted(copy, "%plain", "%where", ""),
        size=copy.element_bytes,
        type=float_type or f"i{8 * copy.element_bytes}",
        kind=kind,
    )


def _reduction(kind: str, element: str, is_float: bool) -> str:
    """The word of LLVM's atomic operation."""
    if is_float:
        return {"add": "fadd", "min": "fmin", "max": "fmax"}[kind]
    if kind in ("min", "max"):
        return kind if element.startswith("s") else f"u{kind}"
    return _INTEGER_KINDS[kind]
