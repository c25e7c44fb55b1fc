"""Pass `expand-tile-mma`: the matrix instructions that `tile.mma` and `tile.mma_block_scale` stand for, written out.

Input: kernels whose fragments are private arrays. Output: `nvvm.mma.sync` between loads and stores of whole registers;
all offsets are constants, so LLVM keeps the arrays in registers. Every register is read once before the first
instruction that needs it and written once after the last. Instructions go along M forth and back: each shares the
registers of A or of B with the one before, which a GPU then reads once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Context, Module, Operation, Value
from triptych.ir.location import place_of
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.dialects.kernel_operations import producer
from triptych.kernel_ir.dialects.mma import SCALED_WARP_MMAS, WARP_MMAS, ScaledWarpMma, WarpMma
from triptych.kernel_ir.dialects.tile import MMA, MMA_BLOCK_SCALE
from triptych.objectstage.device_errors import ArchitectureError
from triptych.support.dataclass import dataclass
from triptych.targets.nvptx.description.architectures import Architecture

# Products of fp8 on GPUs whose warps multiply no fp8: two products of f16 for each.
# GPUs of the generations 90 to 103 have other instructions for fp8. For the one of a warp the assembler writes the
# same conversions and products, but each product by itself and an addition for every number of it afterwards: half as
# many instructions again, and registers that a large tile does not have. Written here, the matrix units add.

_FP8 = frozenset({"e4m3", "e5m2"})
_WITHOUT_FP8 = range(90, 120)
_OF_HALVES = WARP_MMAS["m16n8k16.f32.f16.f16.f32"]


def written_as(instruction: WarpMma, architecture: Architecture) -> WarpMma:
    """The instruction that code for the architecture has for a matrix instruction."""
    if instruction.a in _FP8 and architecture.generation in _WITHOUT_FP8:
        return _OF_HALVES
    return instruction


def halves_of_registers(count: int) -> list[list[tuple[int, int]]]:
    """For each of the two products, the registers of fp8 that its operands are made of, and which half (0: the lower).

    Registers go along rows first, then along k, with four neighbours along k in each. Two neighbours become an operand
    of f16. Their places along k are not those that they had, but the same for both factors, and a sum has no order.
    """
    together = count // 2
    return [[(i, half) for half in range(2) for i in range(start, start + together)] for start in (0, together)]


_ALIGNMENT = 4
"""Bytes of a register."""
_REGISTERS = {"f16": "vector<2xf16>", "f32": "f32"}
"""How LLVM's instructions take the registers of an element type; those of all others are bits."""
_BITS = "i32"


def expanding_mma(architecture: Architecture) -> Callable[[Module], None]:
    """The pass for one architecture."""

    def expand_tile_mma(module: Module) -> None:
        """Write out all products of the kernels; last of all, because it makes hundreds of operations of one."""
        words = _Words(module.context)
        for kernel in kernels(module, "llvm.func"):
            for operation in operations_named(kernel, MMA, MMA_BLOCK_SCALE):
                scaled = operation.name == MMA_BLOCK_SCALE
                made = _ScaledExpansion(operation, words) if scaled else _Expansion(operation, words, architecture)
                made.write()
                operation.erase()

    return expand_tile_mma


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A private array and the offsets of its registers, as many for each instruction."""

    base: Value
    element: Attribute
    """The attribute that holds the type of the array's elements."""
    register: str
    offsets: Sequence[int]
    count: int
    """Registers of one instruction."""


class _Words:
    """A builder with the attributes that thousands of operations share: reading one takes longer than the rest."""

    def __init__(self, context: Context) -> None:
        self.builder = Builder(context)
        self.memory = {
            "alignment": self.builder.integer("i64", _ALIGNMENT),
            "ordering": self.builder.integer("i64", 0),
        }
        self.attribute = self.builder.attribute
        self.widening = cache(self._widening)

    def _widening(self, kind: str) -> dict[str, Attribute]:
        """Of the call that makes f16 of two numbers."""
        return self.builder.call_attributes(1, intrin=self.builder.string(f"llvm.nvvm.{kind}x2.to.f16x2.rn"))


class _Fragments:
    """The fragments of one operation, and the loads and stores of their registers in front of it."""

    def __init__(self, operation: Operation, words: _Words, instruction: WarpMma) -> None:
        self._builder, self._memory, self._attribute = words.builder, words.memory, words.attribute
        self._builder.stand_before(operation)
        self._tiles = m, n, k = _integers(operation, "tiles")
        self._d = _fragment(operation, 0, "d", instruction.accumulator, m * n)
        self._a = _fragment(operation, 1, "a", instruction.a, m * k)
        self._b = _fragment(operation, 2, "b", instruction.b, n * k)
        self._c = _fragment(operation, 3, "c", instruction.accumulator, m * n)
        self._places: dict[tuple[Value, int], Value] = {}

    def _load(self, fragment: _Fragment, number: int) -> list[Value]:
        addresses = self._addresses(fragment, number)
        return [self._builder.value("llvm.load", (address,), fragment.register, self._memory) for address in addresses]

    def _store(self, fragment: _Fragment, number: int, registers: Sequence[Value]) -> None:
        for value, address in zip(registers, self._addresses(fragment, number), strict=True):
            self._builder.operation("llvm.store", (value, address), (), self._memory)

    def _addresses(self, fragment: _Fragment, number: int) -> list[Value]:
        first = number * fragment.count
        return [self._address(fragment, offset) for offset in fragment.offsets[first : first + fragment.count]]

    def _address(self, fragment: _Fragment, offset: int) -> Value:
        """Of a register, once: sums are mostly stored where they were loaded from."""
        known = self._places.get((fragment.base, offset))
        if known is None:
            known = self._places[fragment.base, offset] = self._new_address(fragment, offset)
        return known

    def _new_address(self, fragment: _Fragment, offset: int) -> Value:
        attributes = {
            "elem_type": fragment.element,
            "rawConstantIndices": self._attribute(f"array<i32: {offset}>"),
        }
        return self._builder.value("llvm.getelementptr", (fragment.base,), "!llvm.ptr", attributes)


class _Expansion(_Fragments):
    """Builds what stands for one operation, in front of it and at its place in the source."""

    def __init__(self, operation: Operation, words: _Words, architecture: Architecture) -> None:
        self._meant = _known(operation, architecture)
        super().__init__(operation, words, self._meant)
        self._widening = words.widening
        self._written = written_as(self._meant, architecture)
        self._words = self._attributes(self._written)

    def write(self) -> None:
        """Loads, instructions, stores."""
        m_tiles, n_tiles, k_tiles = self._tiles
        sums = [self._load(self._c, i) for i in range(m_tiles * n_tiles)]
        for k in range(k_tiles):
            a = [self._operands(self._load(self._a, m + m_tiles * k), self._meant.a) for m in range(m_tiles)]
            b = [self._operands(self._load(self._b, n + n_tiles * k), self._meant.b) for n in range(n_tiles)]
            for n in range(n_tiles):
                for m in range(m_tiles) if n % 2 == 0 else reversed(range(m_tiles)):
                    for left, right in zip(a[m], b[n], strict=True):
                        sums[m + m_tiles * n] = self._multiply(left, right, sums[m + m_tiles * n])
        for i, registers in enumerate(sums):
            self._store(self._d, i, registers)

    def _attributes(self, instruction: WarpMma) -> Mapping[str, Attribute]:
        m, n, k = instruction.shape_mnk
        texts = {
            "shape": f"#nvvm.shape<m = {m}, n = {n}, k = {k}>",
            "layoutA": "#nvvm.mma_layout<row>",
            "layoutB": "#nvvm.mma_layout<col>",
            "multiplicandAPtxType": f"#nvvm.mma_type<{instruction.a}>",
            "multiplicandBPtxType": f"#nvvm.mma_type<{instruction.b}>",
            "operandSegmentSizes": f"array<i32: {self._a.count}, {self._b.count}, {self._c.count}>",
        }
        if instruction.accumulator == "s32":
            texts["intOverflowBehavior"] = "#nvvm.mma_int_overflow<wrapped>"
        return {name: self._attribute(text) for name, text in texts.items()}

    def _operands(self, registers: list[Value], kind: str) -> list[list[Value]]:
        """What each of the instructions takes that are written for one."""
        if self._written is self._meant:
            return [registers]
        parts = halves_of_registers(len(registers))
        return [[self._as_f16(registers[i], half, kind) for i, half in part] for part in parts]

    def _as_f16(self, register: Value, half: int, kind: str) -> Value:
        """Two of the four numbers of a register."""
        words = self._builder.value("llvm.bitcast", (register,), "vector<2xi16>")
        place = self._builder.value("llvm.mlir.constant", (), "i32", {"value": self._attribute(f"{half} : i32")})
        word = self._builder.value("llvm.extractelement", (words, place), "i16")
        return self._builder.value("llvm.call_intrinsic", (word,), "vector<2xf16>", self._widening(kind))

    def _multiply(self, a: Sequence[Value], b: Sequence[Value], c: Sequence[Value]) -> list[Value]:
        register = self._d.register
        together = f"!llvm.struct<({', '.join([register] * len(c))})>"
        made = self._builder.value("nvvm.mma.sync", (*a, *b, *c), together, self._words)
        places = ({"position": self._attribute(f"array<i64: {i}>")} for i in range(len(c)))
        return [self._builder.value("llvm.extractvalue", (made,), register, place) for place in places]


def _known(operation: Operation, architecture: Architecture) -> WarpMma:
    """The instruction of an operation, which may be one of other GPUs."""
    name = operation.attributes["instruction"].value
    if name in WARP_MMAS:
        return WARP_MMAS[name]
    raise ArchitectureError(
        f"{architecture.name} has no instruction for this",
        span=place_of(operation),
        found=name,
        expected="an operation of nvgpu.warp, nvgpu.warpgroup or nvgpu.tcgen05",
        instead="target='cpu'",
    )


class _ScaledExpansion(_Fragments):
    """The same for products with block scales, whose scales are the low bytes of a register."""

    def __init__(self, operation: Operation, words: _Words) -> None:
        self._instruction: ScaledWarpMma = SCALED_WARP_MMAS[operation.attributes["instruction"].value]
        super().__init__(operation, words, self._instruction)
        m, n, k = self._tiles
        self._sfa = _fragment(operation, 4, "sfa", self._instruction.scale, m * k)
        self._sfb = _fragment(operation, 5, "sfb", self._instruction.scale, n * k)
        name = words.builder.string(f"llvm.nvvm.{scaled_intrinsic(self._instruction)}")
        self._call = words.builder.call_attributes(4 + 2 + 4 + 6, intrin=name)

    def write(self) -> None:
        """Loads, instructions, stores."""
        m_tiles, n_tiles, k_tiles = self._tiles
        sums = [self._load(self._c, i) for i in range(m_tiles * n_tiles)]
        for k in range(k_tiles):
            rows, columns = ([i + count * k for i in range(count)] for count in (m_tiles, n_tiles))
            a = [(self._load(self._a, i), self._scales(self._sfa, i)) for i in rows]
            b = [(self._load(self._b, i), self._scales(self._sfb, i)) for i in columns]
            for n in range(n_tiles):
                for m in range(m_tiles) if n % 2 == 0 else reversed(range(m_tiles)):
                    sums[m + m_tiles * n] = self._multiply(a[m], b[n], sums[m + m_tiles * n])
        for i, registers in enumerate(sums):
            self._store(self._d, i, registers)

    def _multiply(self, a: tuple[list[Value], Value], b: tuple[list[Value], Value], c: Sequence[Value]) -> list[Value]:
        """The scales of byte 0 of the first threads of each four."""
        none = self._builder.value("llvm.mlir.constant", (), "i16", {"value": self._attribute("0 : i16")})
        operands = (*a[0], *b[0], *c, a[1], none, none, b[1], none, none)
        together = f"!llvm.struct<({', '.join([self._d.register] * len(c))})>"
        made = self._builder.value("llvm.call_intrinsic", operands, together, self._call)
        places = ({"position": self._attribute(f"array<i64: {i}>")} for i in range(len(c)))
        return [self._builder.value("llvm.extractvalue", (made,), self._d.register, place) for place in places]

    def _scales(self, fragment: _Fragment, number: int) -> Value:
        """The bytes of a tile as a register."""
        count = self._instruction.scales
        (address,) = self._addresses(fragment, number)
        memory = {**self._memory, "alignment": self._builder.integer("i64", count)}
        kind = f"i{8 * count}"
        loaded = self._builder.value("llvm.load", (address,), kind, memory)
        return loaded if kind == _BITS else self._builder.value("llvm.zext", (loaded,), _BITS)


def scaled_intrinsic(instruction: ScaledWarpMma) -> str:
    """LLVM's name of an instruction, `mma.block.scale.m16n8k64.row.col.mxf4.scale.2x...`."""
    shape, rest = instruction.name.split(".", 1)
    return f"mma.block.scale.{shape}.row.col.{rest}"


def _fragment(operation: Operation, operand: int, name: str, kind: str, instructions: int) -> _Fragment:
    base, offsets = operation.operands[operand], _integers(operation, name)
    element = producer(base).attributes["elem_type"]
    return _Fragment(base, element, _REGISTERS.get(kind, _BITS), offsets, len(offsets) // instructions)


def _integers(operation: Operation, name: str) -> list[int]:
    return list(bindings.mlir().DenseI64ArrayAttr(operation.attributes[name]))
