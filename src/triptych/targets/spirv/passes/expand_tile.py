"""Pass `expand-tile`: matrix instructions of a warp, by what their layouts say, over shuffles.

Input: `tile.mma`, `tile.load_matrix` and `tile.store_matrix`. Output: loops, shuffles, sums of single products. OpenCL
devices have no such instructions, and speed does not matter here: every element is fetched from the lane that holds
it, as the instruction's table of threads and values says, and nothing else is known of the instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.expressions import Expression, select
from triptych.ir.handles import Attribute, Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.dialects.matrix_copies import MATRIX_COPIES, MatrixCopy
from triptych.kernel_ir.dialects.mma import REGISTER_BITS, WARP_MMAS, WIDTHS, WarpMma, elements_per_register
from triptych.kernel_ir.dialects.tile import LOAD_MATRIX, MMA, STORE_MATRIX
from triptych.kernel_ir.transforms.loop_passes import CARRIED
from triptych.kernel_ir.transforms.narrow_floats.rounding import narrow, widen, widen_bits
from triptych.layout import Layout
from triptych.support.dataclass import dataclass
from triptych.support.float_formats import FLOAT_FORMATS
from triptych.targets.spirv import LANES
from triptych.targets.spirv.passes.warp import SubGroup

EXPANDED = frozenset({MMA, LOAD_MATRIX, STORE_MATRIX})
"""What the pass writes out."""
_ROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"
_WORD = "i32"


def expand_tile(module: Module) -> None:
    """Write all of them out."""
    for kernel in kernels(module):
        warp = SubGroup(kernel)
        for operation in operations_named(kernel, *EXPANDED):
            _RULES[operation.name](warp.at(operation), operation)
            operation.erase()


# products -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Array:
    """An operand: a private array, and where each register begins, for a first and a second index of tiles."""

    base: Value
    places: Sequence[int]
    registers: int
    bytes: int

    def address(self, warp: SubGroup, first: Expression, second: Expression, count: int, register: int) -> Value:
        """Of a register of the instruction (first, second); `count` is how many firsts there are."""
        rows = [self.places[i * self.registers + register] for i in range(len(self.places) // self.registers)]
        start = rows[0]
        along = rows[1] - start if count > 1 else 0
        across = rows[count] - start if len(rows) > count else 0
        regular = all(place == start + i % count * along + i // count * across for i, place in enumerate(rows))
        place = first * along + second * across + start if regular else _chosen(rows, first + second * count)
        offset = (place * self.bytes).convert("extsi", "i64")
        kinds = {
            "rawConstantIndices": warp.builder.attribute("array<i32: -2147483648>"),
            "elem_type": warp.builder.attribute("i8"),
        }
        return warp.builder.value("llvm.getelementptr", (self.base, offset.value), "!llvm.ptr", kinds)


def _chosen(values: Sequence[int], index: Expression) -> Expression:
    found = index.filled(values[0])
    for number, value in enumerate(values):
        found = select(index.equals(number), value, found)
    return found


def _mma(warp: SubGroup, operation: Operation) -> None:
    """D = C, then D += A * B for every instruction."""
    attributes = operation.attributes
    mma = WARP_MMAS[attributes["instruction"].value]
    m, n, k = _integers(attributes["tiles"])
    kinds = {"d": mma.accumulator, "a": mma.a, "b": mma.b, "c": mma.accumulator}
    counts = {"d": m * n, "a": m * k, "b": n * k, "c": m * n}
    arrays = {}
    for operand, (name, kind) in zip(operation.operands, kinds.items(), strict=True):
        places = _integers(attributes[name])
        arrays[name] = _Array(operand, places, len(places) // counts[name], max(1, WIDTHS[kind] // 8))
    with_indices = partial(_loop_nest, warp)
    with_indices((n, m), lambda i: _copy_registers(warp, arrays["d"], arrays["c"], i[1], i[0], m))
    with_indices((k, n, m), lambda i: _product(warp, mma, arrays, i, (m, n)))


def _integers(attribute: Attribute) -> list[int]:
    return list(bindings.mlir().DenseI64ArrayAttr(attribute))


def _loop_nest(warp: SubGroup, counts: Sequence[int], body: Callable[[list[Expression]], None]) -> None:
    """Loops that stay loops, the first outermost; one turn needs none."""
    _loops(warp, list(counts), [], body)


def _loops(
    warp: SubGroup, counts: list[int], indices: list[Expression], body: Callable[[list[Expression]], None]
) -> None:
    if not counts:
        body(indices)
        return
    if counts[0] == 1:
        _loops(warp, counts[1:], [*indices, warp.number(0)], body)
        return
    builder = warp.builder
    bounds = [warp.number(value).value for value in (0, counts[0], 1)]
    loop = builder.operation("scf.for", bounds, regions=1, attributes={CARRIED: builder.attribute(_ROLLED)})
    block = builder.append_block(loop, 0, [_WORD])
    after = builder.enter(block)
    _loops(warp, counts[1:], [*indices, warp.of(block.arguments[0])], body)
    builder.operation("scf.yield")
    builder.leave(after)


def _copy_registers(warp: SubGroup, to: _Array, source: _Array, i: Expression, j: Expression, count: int) -> None:
    for register in range(to.registers):
        word = _load(warp, source.address(warp, i, j, count, register))
        _store(warp, word, to.address(warp, i, j, count, register))


def _load(warp: SubGroup, address: Value, kind: str = _WORD) -> Expression:
    return warp.of(warp.builder.value("llvm.load", (address,), kind, _access(warp.builder, kind)))


def _store(warp: SubGroup, word: Expression, address: Value) -> None:
    warp.builder.operation("llvm.store", (word.value, address), attributes=_access(warp.builder, word.element))


def _access(builder: Builder, kind: str) -> dict[str, Attribute]:
    return {"alignment": builder.integer("i64", int(kind[1:]) // 8), "ordering": builder.integer("i64", 0)}


def _product(
    warp: SubGroup, mma: WarpMma, arrays: dict[str, _Array], tile: list[Expression], counts: tuple[int, int]
) -> None:
    """One instruction: each thread sums up its own elements of D over K, with what other lanes hold of A and B."""
    (k, n, m), (rows, columns) = tile, counts
    a = [_load(warp, arrays["a"].address(warp, m, k, rows, r)) for r in range(arrays["a"].registers)]
    b = [_load(warp, arrays["b"].address(warp, n, k, columns, r)) for r in range(arrays["b"].registers)]
    places = [arrays["d"].address(warp, m, n, rows, r) for r in range(arrays["d"].registers)]
    words = [_load(warp, place) for place in places]
    together = elements_per_register(mma.accumulator)
    extent, _, depth = mma.shape_mnk
    factors_a = _HeldElements(warp, a, mma.a, mma.tv_a, extent)
    factors_b = _HeldElements(warp, b, mma.b, mma.tv_b, mma.shape_mnk[1])
    made: list[Expression] = []
    for value in range(len(words) * together):
        where = [_number(mma.tv_c, thread, value) for thread in range(LANES)]
        total = _element(words[value // together], value % together, mma.accumulator)
        for step in range(depth):
            left = factors_a.at([number % extent for number in where], step)
            right = factors_b.at([number // extent for number in where], step)
            total = _plus_product(left, right, total)
        made.append(total)
    for register, place in enumerate(places):
        parts = made[register * together : (register + 1) * together]
        _store(warp, _joined(parts, mma.accumulator), place)


def _number(layout: Layout, thread: int, value: int) -> int:
    found = layout((thread, value))
    assert isinstance(found, int), "layouts of instructions are static"
    return found


def _plus_product(left: Expression, right: Expression, total: Expression) -> Expression:
    return left * right + total if total.element == "i32" else total.emit("math.fma", left, right, total)


class _HeldElements:
    """The elements of A or B, wherever they are: row and column to a lane and one of its values."""

    def __init__(self, warp: SubGroup, words: list[Expression], kind: str, layout: Layout, rows: int) -> None:
        self._warp, self._words, self._kind, self._rows = warp, words, kind, rows
        self._together = elements_per_register(kind)
        values = range(len(words) * self._together)
        self._holder = {_number(layout, t, v): (t, v) for t in reversed(range(LANES)) for v in reversed(values)}
        self._read: dict[tuple[tuple[int, ...], int], Expression] = {}
        self._elements: dict[tuple[tuple[int, ...], int], Expression] = {}

    def at(self, rows: list[int], column: int) -> Expression:
        """The elements at these rows, one for each thread, of a column."""
        holders = [self._holder[row + self._rows * column] for row in rows]
        lanes, values = tuple(lane for lane, _ in holders), {value for _, value in holders}
        assert len(values) == 1, "threads ask for the same value of different lanes"
        (value,) = values
        if (lanes, value) not in self._elements:
            word = value // self._together
            if (lanes, word) not in self._read:
                self._read[lanes, word] = self._warp.read(self._words[word], self._warp.of_lanes(lanes))
            self._elements[lanes, value] = _element(self._read[lanes, word], value % self._together, self._kind)
        return self._elements[lanes, value]


_FP8 = {"e4m3": FLOAT_FORMATS["f8E4M3FN"], "e5m2": FLOAT_FORMATS["f8E5M2"]}


def _element(word: Expression, place: int, kind: str) -> Expression:
    """A number of a register, in 32 bits: a float, or an integer."""
    width = WIDTHS[kind]
    bits = word >> (place * width)
    if kind == "s8":
        return (bits << (REGISTER_BITS - width)).shifted_right_signed(REGISTER_BITS - width)
    if kind == "u8":
        return bits & 0xFF
    if width == REGISTER_BITS:
        return word if kind == "s32" else word.bits_as("f32") if kind == "f32" else (word & ~0x1FFF).bits_as("f32")
    short = bits.convert("trunci", f"i{width}")
    if kind == "bf16":
        return widen_bits(short)
    return short.bits_as("f16").convert("extf", "f32") if kind == "f16" else widen(short, _FP8[kind])


def _joined(parts: list[Expression], kind: str) -> Expression:
    """The register of some numbers."""
    if WIDTHS[kind] == REGISTER_BITS:
        return parts[0] if kind == "s32" else parts[0].bits()
    low, high = (narrow(part, FLOAT_FORMATS[kind]).bits().convert("extui", _WORD) for part in parts)
    return low | (high << WIDTHS[kind])


# copies of matrices ---------------------------------------------------------------------------------------------------
def _load_matrix(warp: SubGroup, operation: Operation) -> None:
    copy = MATRIX_COPIES[operation.attributes["instruction"].value]
    pieces = _Pieces(warp, copy, operation.operands[0])
    for register, result in enumerate(operation.results):
        word = warp.number(0)
        for bit in range(0, REGISTER_BITS, pieces.width):
            piece = _load(warp, pieces.address(register * REGISTER_BITS + bit), f"i{pieces.width}")
            word = word | (piece.convert("extui", _WORD) << bit)
        result.replace_all_uses_with(word.value)


def _store_matrix(warp: SubGroup, operation: Operation) -> None:
    copy = MATRIX_COPIES[operation.attributes["instruction"].value]
    row, *registers = operation.operands
    pieces = _Pieces(warp, copy, row)
    for register, value in enumerate(registers):
        for bit in range(0, REGISTER_BITS, pieces.width):
            piece = (warp.of(value) >> bit).convert("trunci", f"i{pieces.width}")
            _store(warp, piece, pieces.address(register * REGISTER_BITS + bit))


class _Pieces:
    """Where the elements of matrices are: in a row whose address some lane gave."""

    def __init__(self, warp: SubGroup, copy: MatrixCopy, row: Value) -> None:
        self._warp, self._copy, self._space = warp, copy, row.type
        self.width = 8 if copy.element == "b8" else 16
        self._rows = warp.of(warp.builder.value("llvm.ptrtoint", (row,), "i64"))
        self._holder: dict[int, tuple[int, int]] = {}
        for thread in reversed(range(LANES)):
            for bit in range(0, 128, self.width):
                self._holder[_number(copy.in_memory, thread, bit)] = thread, bit

    def address(self, bit: int) -> Value:
        """Of what begins at a bit of each thread's registers."""
        holders = [self._holder[self._copy.held(thread, bit)] for thread in range(LANES)]
        lanes = self._warp.of_lanes([lane for lane, _ in holders])
        offset = self._warp.of_lanes([place // 8 for _, place in holders])
        found = self._warp.read(self._rows, lanes) + offset.convert("extui", "i64")
        return self._warp.builder.value("llvm.inttoptr", (found.value,), self._space)


_RULES: dict[str, Callable[[SubGroup, Operation], None]] = {
    MMA: _mma,
    LOAD_MATRIX: _load_matrix,
    STORE_MATRIX: _store_matrix,
}
