"""MMA of a warp or a wave on operands in registers: functions that are made for each instruction, and their calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from string import Template

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Operation, Value
from triptych.ir.location import place_of
from triptych.kernel_ir.dialects.mma import WIDTHS, elements_per_register
from triptych.kernel_ir.dialects.tile import MMA
from triptych.kernel_ir.dialects.wave_mma import RegisterMma, mma_of
from triptych.layout import Layout, size
from triptych.support.dataclass import dataclass
from triptych.targets.cpu.emit.collectives import require_whole_warp
from triptych.targets.cpu.emit.operand_conversion import converted, stored_type
from triptych.targets.cpu.emit.values import StackSlot
from triptych.targets.cpu.emit.warp import Warp

# MMA tile functions: they multiply tiles as they lie in the registers of a warp's lanes.
#
# Input: an instruction. Output: functions as MLIR text. A value of all lanes is a row of memory. For each k the
# operands are spread once so that they meet the accumulators lane by lane, and the accumulators of two tiles stay in
# registers over all k. What meets what follows from the instruction's layouts alone. Products are added to the
# accumulator in the order of k, each with one rounding; f16 accumulators are rounded to f16 once, at the end.

CHUNK = 16
"""Lanes that are computed together."""
_LIVE_BYTES = 16 * 4 * CHUNK
"""Of the accumulators that stay in registers over k: the sums of a larger tile are computed a part at a time."""
_SPREAD = Template("""
scf.for %slice = %zero to %slices step %one : i64 {
  %far = arith.addi %k, %slice : i64
  %tiles_before = arith.muli %far, %$extent : i64
  %tile = arith.addi %$number, %tiles_before : i64
  %at = arith.muli %tile, %${operand}_count : i64
  %registers = llvm.getelementptr %${operand}_registers[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %to = llvm.getelementptr %$into[%slice] : (!llvm.ptr, i64) -> !llvm.ptr, $room
  $located
  func.call @$name.$side(%$operand, %registers, $given%to) : (!llvm.ptr, !llvm.ptr, $kinds!llvm.ptr) -> ()
}""")
"""One tile of an operand, in all slices, with what else is given of it."""
_ALL_TILES = Template("""
%zero = arith.constant 0 : i64
%one = arith.constant 1 : i64
%two = arith.constant 2 : i64
%a_count = arith.constant $a_count : i64
%b_count = arith.constant $b_count : i64
%c_count = arith.constant $c_count : i64
%deep = arith.constant $depth : i64
%steps = arith.constant $steps : i64
%next = arith.muli %M, %c_count : i64
%last = arith.subi %N, %one : i64
%left = llvm.alloca %one x $left_room {alignment = 64 : i64} : (i64) -> !llvm.ptr
%right = llvm.alloca %N x $right_room {alignment = 64 : i64} : (i64) -> !llvm.ptr
scf.for %k = %zero to %K step %steps : i64 {
  %first = arith.cmpi eq, %k, %zero : i64
  %from = arith.select %first, %c, %d : !llvm.ptr
  %from_registers = arith.select %first, %c_registers, %d_registers : !llvm.ptr
  %to_come = arith.subi %K, %k : i64
  %slices = arith.minsi %to_come, %steps : i64
  %depth = arith.muli %slices, %deep : i64
  scf.for %n = %zero to %N step %one : i64 {
    %place = llvm.getelementptr %right[%n] : (!llvm.ptr, i64) -> !llvm.ptr, $right_room
    $spread_right
  }
  scf.for %m = %zero to %M step %one : i64 {
    $spread_left
    %row = arith.muli %m, %c_count : i64
    scf.for %n = %zero to %N step %two : i64 {
      %column = arith.muli %n, %next : i64
      %begin = arith.addi %row, %column : i64
      %d_at = llvm.getelementptr %d_registers[%begin] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      %c_at = llvm.getelementptr %from_registers[%begin] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      %tiles = llvm.getelementptr %right[%n] : (!llvm.ptr, i64) -> !llvm.ptr, $right_room
      %is_last = arith.cmpi eq, %n, %last : i64
      scf.if %is_last {
        func.call @$name.1(%d, %d_at, %from, %c_at, %left, %tiles, %next, %depth) : $multiplied
      } else {
        func.call @$name.2(%d, %d_at, %from, %c_at, %left, %tiles, %next, %depth) : $multiplied
      }
    }
  }
}""")
"""For a few slices of k: spread the tiles of B, then for each row of tiles those of A, and multiply two columns at a
time. The sums of all tiles are more than a cache next to the machine holds, and are loaded and stored for each few."""
_DEEP = 32
"""Of k that is multiplied at a time: the spread operands of more would leave that cache, too."""


def function_name(instruction: RegisterMma) -> str:
    """The function (d, a, b, c: arrays; their tables of registers; M, N, K: i64) that runs an operation `tile.mma`."""
    return f"mma.{instruction.name}"


@cache
def product_functions(instruction: RegisterMma) -> str:
    """All functions that one instruction needs."""
    return "\n".join(WarpProduct(instruction).functions())


@dataclass(frozen=True, slots=True)
class Side:
    """One operand, spread: for each k and each of its `patterns` the elements that a chunk of lanes multiplies."""

    name: str
    kind: str
    tv: Layout
    extent: int
    patterns: list[tuple[int, ...]]
    together: int
    """Elements of a register."""
    threads: int

    @property
    def registers(self) -> int:
        """Of a thread."""
        return values(self.tv) // self.together

    @property
    def period(self) -> int:
        """Lanes after which all patterns repeat: only so many elements are kept."""
        return next(n for n in (1, 2, 4, 8, CHUNK) if all(p[n:] == p[:-n] for p in self.patterns))


def values(tv: Layout) -> int:
    """How many values a thread has."""
    count = size(tv, [1])
    assert isinstance(count, int), "layouts of instructions are static"
    return count


def _coordinates(side: Side) -> dict[tuple[int, int], tuple[int, int]]:
    """Where (row, column) of a tile lies: (value, lane)."""
    found = {}
    for value in range(values(side.tv)):
        for lane in range(side.threads):
            number = side.tv((lane, value))
            assert isinstance(number, int), "layouts of instructions are static"
            found[number % side.extent, number // side.extent] = (value, lane)
    return found


Chunk = tuple[int, int]
"""A tile, and a chunk of its accumulators."""


class WarpProduct:
    """The functions of one instruction."""

    _arrays: Sequence[str] = ("d", "a", "b", "c")

    def __init__(self, instruction: RegisterMma) -> None:
        self._instruction = instruction
        self._name = function_name(instruction)
        m, n, self._depth = instruction.shape_mnk
        self._steps = 1 if instruction.accumulator == "f16" else max(1, _DEEP // self._depth)
        """Instructions along k that are run at a time; sums in f16 are rounded after each."""
        self._whole = instruction.accumulator == "s32"
        self._computed = {"s32": "i32", "f64": "f64"}.get(instruction.accumulator, "f32")
        self._element_bytes = WIDTHS["f64" if self._computed == "f64" else "f32"] // 8
        self._threads = instruction.threads
        self._chunk = f"vector<{CHUNK}x{self._computed}>"
        met = [self._met(value, start, m) for value in range(values(instruction.tv_c)) for start in self._starts()]
        rows, columns = (list(dict.fromkeys(side)) for side in zip(*met, strict=True))
        a, b = (self._per_register(kind) for kind in (instruction.a, instruction.b))
        self._left = Side("left", instruction.a, instruction.tv_a, m, rows, a, self._threads)
        self._right = Side("right", instruction.b, instruction.tv_b, n, columns, b, self._threads)
        self._pairs = [(rows.index(row), columns.index(column)) for row, column in met]
        """For each chunk of the accumulators the patterns that it multiplies."""

    def _starts(self) -> range:
        """The first lanes of the chunks of a value."""
        return range(0, self._threads, CHUNK)

    def _per_register(self, kind: str) -> int:
        return elements_per_register(kind)

    def _met(self, value: int, start: int, rows: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The rows of A and the rows of B that the lanes of a chunk of a value need."""
        numbers = [self._instruction.tv_c((lane, value)) for lane in range(start, start + CHUNK)]
        known = [number for number in numbers if isinstance(number, int)]
        return tuple(number % rows for number in known), tuple(number // rows for number in known)

    def functions(self) -> Iterator[str]:
        """As MLIR text."""
        yield self._spread(self._left)
        yield self._spread(self._right)
        yield self._multiply(1)
        yield self._multiply(2)
        yield self._driver()

    def _spread_chunks(self, side: Side, slices: int) -> int:
        """The chunks that slices of an operand are when they are spread."""
        return slices * self._depth * len(side.patterns) * side.period // CHUNK

    def _spread_type(self, side: Side, slices: int) -> str:
        return f"!llvm.array<{self._spread_chunks(side, slices)} x {self._chunk}>"

    # spreading --------------------------------------------------------------------------------------------------
    def _spread(self, side: Side) -> str:
        """Read one operand and write what each (k, pattern) multiplies, one after the other."""
        parameters = ("%array: !llvm.ptr", "%registers: !llvm.ptr", "%to: !llvm.ptr")
        return function_text(f"{self._name}.{side.name}", parameters, list(self._spread_lines(side)))

    def _spread_lines(self, side: Side) -> Iterator[str]:
        where = _coordinates(side)
        kept = [
            where[row, k] for k in range(self._depth) for pattern in side.patterns for row in pattern[: side.period]
        ]
        yield from self._read_rows(side)
        for at in range(len(kept) // CHUNK):
            yield _picked(f"%s{at}", kept[at * CHUNK : (at + 1) * CHUNK], f"vector<{self._threads}x{self._computed}>")
            yield f"%t{at} = llvm.getelementptr %to[{at}] : (!llvm.ptr) -> !llvm.ptr, {self._chunk}"
            yield f"llvm.store %s{at}, %t{at} {{alignment = 64 : i64}} : {self._chunk}, !llvm.ptr"

    def _read_rows(self, side: Side) -> Iterator[str]:
        """Every value of the operand, in the type that is computed in: `%v0`, `%v1` …"""
        row = f"vector<{self._threads}x{stored_type(side.kind)}>"
        for value in range(values(side.tv)):
            yield from row_address(f"%p{value}", "%array", "%registers", value, side.together, row)
            loaded = f"%v{value}" if side.kind == self._computed else f"%m{value}"
            yield f"{loaded} = llvm.load %p{value} {{alignment = 32 : i64}} : !llvm.ptr -> {row}"
            if side.kind != self._computed:
                yield from converted(f"%v{value}", loaded, side.kind, self._threads)

    # multiplying ------------------------------------------------------------------------------------------------
    def _multiply(self, tiles: int) -> str:
        """D = A * B + C for neighbouring tiles of a row; `next` is how far apart their registers are in the tables."""
        lines: list[str] = []
        for tile in range(tiles):
            lines += self._locate("c", tile)
            lines += self._locate("d", tile)
        for number, chunks in enumerate(self._groups(tiles)):
            for tile, chunk in chunks:
                lines += self._load_accumulator(tile, chunk)
            if number == 0:
                lines += ["%zero = arith.constant 0 : i64", "%one = arith.constant 1 : i64"]
            result = f"%sums{number or ''}"
            lines += self._add_products(result, chunks)
            for i, (tile, chunk) in enumerate(chunks):
                lines += self._store_accumulator(tile, chunk, f"{result}#{i}")
        parameters = ("%d", "%d_registers", "%c", "%c_registers", "%left", "%right")
        pointers = (f"{name}: !llvm.ptr" for name in parameters)
        return function_text(f"{self._name}.{tiles}", (*pointers, "%next: i64", "%depth: i64"), lines)

    def _groups(self, tiles: int) -> Iterator[list[Chunk]]:
        """The accumulators that are computed together: the same part of each tile, which shares rows of A."""
        together = _LIVE_BYTES // (CHUNK * self._element_bytes * tiles)
        for first in range(0, len(self._pairs), together):
            part = range(first, min(first + together, len(self._pairs)))
            yield [(tile, chunk) for tile in range(tiles) for chunk in part]

    def _add_products(self, result: str, chunks: Sequence[Chunk]) -> Iterator[str]:
        """For each chunk `%x` and its products for all k."""
        started = [f"%x{tile}_{chunk}" for tile, chunk in chunks]
        yield from self._along_k(result, ("%zero", "%depth"), started, chunks)

    def _along_k(
        self,
        result: str,
        bounds: tuple[str, str],
        started: Sequence[str],
        chunks: Sequence[Chunk],
    ) -> Iterator[str]:
        """A loop over a part of k."""
        carried = ", ".join(f"%a{i} = {name}" for i, name in enumerate(started))
        kinds = ", ".join([self._chunk] * len(started))
        begin, end = bounds
        yield (
            f"{result}:{len(started)} = scf.for %k = {begin} to {end} step %one "
            f"iter_args({carried}) -> ({kinds}) : i64 {{"
        )
        rows, columns = (dict.fromkeys(side) for side in zip(*(self._pairs[chunk] for _, chunk in chunks), strict=True))
        yield from self._load_spread("left", self._left, 0, rows)
        for tile in dict.fromkeys(tile for tile, _ in chunks):
            yield from self._load_spread(f"right{tile}", self._right, tile, columns)
        for i, (tile, chunk) in enumerate(chunks):
            left, right = self._pairs[chunk]
            yield from self._accumulate(f"%b{i}", f"%left{left}", f"%right{tile}{right}", f"%a{i}")
        yield f"scf.yield {', '.join(f'%b{i}' for i in range(len(started)))} : {kinds}"
        yield "}"

    def _locate(self, array: str, tile: int) -> Iterator[str]:
        """The rows of memory of a tile's accumulators."""
        together = elements_per_register(self._instruction.accumulator)
        kind = stored_type(self._instruction.accumulator)
        registers = f"%{array}_registers"
        if tile:
            registers = f"%{array}r{tile}"
            yield f"%{array}t{tile}_ = arith.constant {tile} : i64"
            yield f"%{array}t{tile} = arith.muli %{array}t{tile}_, %next : i64"
            yield (
                f"{registers} = llvm.getelementptr %{array}_registers[%{array}t{tile}] "
                ": (!llvm.ptr, i64) -> !llvm.ptr, i32"
            )
        row = f"vector<{self._threads}x{kind}>"
        for value in range(values(self._instruction.tv_c)):
            name = f"%{array}{tile}_{value}"
            yield from row_address(name, f"%{array}", registers, value, together, row)

    def _load_accumulator(self, tile: int, chunk: int) -> Iterator[str]:
        value, part = divmod(chunk, len(self._starts()))
        kind = stored_type(self._instruction.accumulator)
        name, memory = f"%x{tile}_{chunk}", f"vector<{CHUNK}x{kind}>"
        yield f"{name}p = llvm.getelementptr %c{tile}_{value}[{part}] : (!llvm.ptr) -> !llvm.ptr, {memory}"
        loaded = name if kind == self._computed else f"{name}s"
        yield f"{loaded} = llvm.load {name}p {{alignment = 32 : i64}} : !llvm.ptr -> {memory}"
        if loaded != name:
            yield f"{name} = arith.extf {loaded} : {memory} to {self._chunk}"

    def _store_accumulator(self, tile: int, chunk: int, total: str) -> Iterator[str]:
        value, part = divmod(chunk, len(self._starts()))
        kind = stored_type(self._instruction.accumulator)
        name, memory = f"%y{tile}_{chunk}", f"vector<{CHUNK}x{kind}>"
        yield f"{name}p = llvm.getelementptr %d{tile}_{value}[{part}] : (!llvm.ptr) -> !llvm.ptr, {memory}"
        if kind != self._computed:
            yield f"{name} = arith.truncf {total} : {self._chunk} to {memory}"
            total = name
        yield f"llvm.store {total}, {name}p {{alignment = 32 : i64}} : {memory}, !llvm.ptr"

    def _load_spread(self, name: str, side: Side, tile: int, used: Iterable[int]) -> Iterator[str]:
        """What chunks multiply for one k: the patterns that they use."""
        patterns, period = len(side.patterns), side.period
        kind, size = f"vector<{period}x{self._computed}>", self._element_bytes * period
        repeated = ", ".join(str(lane % period) for lane in range(CHUNK))
        yield f"%{name}_n = arith.constant {patterns} : i64"
        yield f"%{name}_k = arith.muli %k, %{name}_n : i64"
        yield f"%{name}_p = llvm.getelementptr %{side.name}[%{name}_k] : (!llvm.ptr, i64) -> !llvm.ptr, {kind}"
        for p in used:
            at = tile * self._spread_chunks(side, self._steps) * CHUNK // period + p
            yield f"%{name}{p}_p = llvm.getelementptr %{name}_p[{at}] : (!llvm.ptr) -> !llvm.ptr, {kind}"
            yield f"%{name}{p}_v = llvm.load %{name}{p}_p {{alignment = {size} : i64}} : !llvm.ptr -> {kind}"
            yield f"%{name}{p} = vector.shuffle %{name}{p}_v, %{name}{p}_v [{repeated}] : {kind}, {kind}"

    def _accumulate(self, result: str, left: str, right: str, total: str) -> Iterator[str]:
        if not self._whole:
            yield f"{result} = math.fma {left}, {right}, {total} : {self._chunk}"
            return
        yield f"{result}p = arith.muli {left}, {right} : {self._chunk}"
        yield f"{result} = arith.addi {result}p, {total} : {self._chunk}"

    # all tiles --------------------------------------------------------------------------------------------------
    def _driver(self) -> str:
        """All tiles of an operation."""
        left, right = (self._spread_type(side, 1) for side in (self._left, self._right))
        text = _ALL_TILES.substitute(
            name=self._name,
            multiplied=f"({', '.join(['!llvm.ptr'] * 6)}, i64, i64) -> ()",
            depth=self._depth,
            steps=self._steps,
            left_room=self._spread_type(self._left, self._steps),
            right_room=self._spread_type(self._right, self._steps),
            spread_left=self._spread_all("left", "a", "M", "m", "left", left),
            spread_right=self._spread_all("right", "b", "N", "n", "place", right),
            a_count=self._left.registers,
            b_count=self._right.registers,
            c_count=values(self._instruction.tv_c) // elements_per_register(self._instruction.accumulator),
        )
        arrays = tuple(f"%{array}: !llvm.ptr" for array in self._arrays)
        tables = tuple(f"%{array}_registers: !llvm.ptr" for array in self._arrays)
        return function_text(self._name, (*arrays, *tables, "%M: i64", "%N: i64", "%K: i64"), text.splitlines())

    def _spread_all(self, side: str, operand: str, extent: str, number: str, into: str, buffer: str) -> str:
        return _SPREAD.substitute(
            name=self._name,
            side=side,
            operand=operand,
            extent=extent,
            number=number,
            **{"into": into, "room": buffer, **self._given_with(operand)},
        )

    def _given_with(self, operand: str) -> dict[str, str]:
        """What `spread` is given beside an operand: where that is, the arguments and their types."""
        return {"located": "", "given": "", "kinds": ""}


def function_text(name: str, parameters: Sequence[str], lines: Sequence[str]) -> str:
    """A function of which there is one, not a copy at each call."""
    head = (
        f'func.func private @{name}({", ".join(parameters)}) attributes {{llvm.passthrough = ["noinline", "nounwind"]}}'
    )
    return "\n".join([head + " {", *lines, "func.return", "}"])


def row_address(name: str, array: str, registers: str, value: int, together: int, row: str) -> Iterator[str]:
    """The address of one value of all lanes, a vector of the type `row`: its register begins where the table says."""
    register, part = divmod(value, together)
    yield f"{name}r = llvm.getelementptr {registers}[{register}] : (!llvm.ptr) -> !llvm.ptr, i32"
    yield f"{name}o = llvm.load {name}r : !llvm.ptr -> i32"
    yield f"{name}i = arith.extui {name}o : i32 to i64"
    yield f"{name}b = llvm.getelementptr {array}[{name}i] : (!llvm.ptr, i64) -> !llvm.ptr, {row}"
    yield f"{name} = llvm.getelementptr {name}b[{part}] : (!llvm.ptr) -> !llvm.ptr, {row}"


def _picked(result: str, sources: Sequence[tuple[int, int]], row: str) -> str:
    """A chunk of elements out of the rows, of the type `row`, of one or two values."""
    rows = sorted({value for value, _ in sources})
    assert len(rows) <= 2, "no instruction spreads a chunk over more values"
    lanes = int(row.partition("<")[2].partition("x")[0])
    places = [rows.index(value) * lanes + lane for value, lane in sources]
    return f"{result} = vector.shuffle %v{rows[0]}, %v{rows[-1]} [{', '.join(map(str, places))}] : {row}, {row}"


def multiply(warp: Warp, operation: Operation) -> None:
    """All tiles by one call: the arrays of the warp, and where in them the registers of each tile are."""
    instruction = mma_of(operation)
    require_whole_warp(warp, operation, instruction.threads)
    warp.arrays.define(product_functions(instruction))
    arrays = [array_of(warp, operation, operand) for operand in operation.operands]
    tables = [table(warp, list(operation.attributes[name])) for name in "dabc"]
    counts = [warp.code.constant(count, "i64") for count in operation.attributes["tiles"]]
    callee = {"callee": warp.code.attribute(f"@{function_name(instruction)}")}
    warp.code.operation("func.call", [*arrays, *tables, *counts], attributes=callee)


def array_of(warp: Warp, operation: Operation, operand: Value) -> Value:
    """The address of this warp's part of an array that an instruction takes whole."""
    found = warp.get(operand)
    if not isinstance(found, StackSlot) or found.index or found.dynamic is not None:
        raise LoweringError(
            "the CPU target multiplies fragments that are arrays of their own, accessed by whole elements",
            span=place_of(operation),
            found=str(operand),
        )
    return warp.arrays.private(warp, found.root)[1]


def table(warp: Warp, places: Sequence[int]) -> Value:
    """A constant array of numbers."""
    text = ", ".join(map(str, places))
    name, kind = f"registers.{sha256(text.encode()).hexdigest()[:16]}", f"!llvm.array<{len(places)} x i32>"
    warp.arrays.define(
        f"llvm.mlir.global internal constant @{name}(dense<[{text}]> : tensor<{len(places)}xi32>) : {kind}"
    )
    return warp.code.value("llvm.mlir.addressof", (), "!llvm.ptr", {"global_name": warp.code.attribute(f"@{name}")})


HANDLERS: dict[str, Callable[[Warp, Operation], None]] = {MMA: multiply}
