"""Pass `expand-tile-mma`: the matrix instructions of a wave that `tile.mma` stands for, written out as intrinsics.

Input: kernels whose fragments are private arrays. Output: intrinsics between loads and stores of all numbers that a
thread has of an operand; offsets are constants, so LLVM keeps the arrays in registers, and chooses itself which of the
sums lie in accumulation registers. Each operand is read once before the first instruction that needs it, each sum
written once after the last.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Context, Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.dialects.kernel_operations import producer
from triptych.kernel_ir.dialects.mma import elements_per_register, register_bytes
from triptych.kernel_ir.dialects.tile import MMA
from triptych.kernel_ir.dialects.wave_mma import WAVE_MMAS
from triptych.support.dataclass import dataclass
from triptych.targets.amdgpu.description.matrix_instructions import MATRIX_INSTRUCTIONS

PRODUCTS = frozenset({MMA})
_WORD = "i32"


def expand_tile_mma(module: Module) -> None:
    """Write out all products of the kernels, which `check-chip` has found the chip to have."""
    words = _SharedAttributes(module.context)
    for kernel in kernels(module, "llvm.func"):
        for operation in operations_named(kernel, MMA):
            _WaveProduct(operation, words).write()
            operation.erase()


class _SharedAttributes:
    """A builder with the attributes that many operations share."""

    def __init__(self, context: Context) -> None:
        self.builder = Builder(context)
        self.ordering = self.builder.integer("i64", 0)

    def memory(self, alignment: int) -> dict[str, Attribute]:
        return {"alignment": self.builder.integer("i64", alignment), "ordering": self.ordering}


@dataclass(frozen=True, slots=True)
class _WaveFragment:
    """A private array, the type of what an instruction takes of it, and where its registers begin."""

    base: Value
    element: Attribute
    """The attribute that holds the type of the array's elements."""
    kind: str
    offsets: Sequence[int]
    count: int
    """Registers of one instruction."""
    bytes_: int
    """Of a register."""
    together: int
    """Elements of a register."""

    def registers(self, number: int) -> Sequence[int]:
        """Where those of one instruction begin."""
        return self.offsets[number * self.count : (number + 1) * self.count]

    def is_whole(self, number: int) -> bool:
        """Whether they lie side by side."""
        first, *others = self.registers(number)
        return all(offset == first + i * self.together for i, offset in enumerate(others, 1))


class _WaveProduct:
    """Builds what stands for one operation, in front of it and at its place in the source."""

    def __init__(self, operation: Operation, words: _SharedAttributes) -> None:
        name = str(operation.attributes["instruction"].value)
        self._words, self._build = words, words.builder
        self._build.stand_before(operation)
        entry, self._called = WAVE_MMAS[name], MATRIX_INSTRUCTIONS[name]
        self._tiles = m, n, k = _integers(operation, "tiles")
        sums = entry.accumulator, self._called.sums
        self._d = _fragment(operation, 0, "d", *sums, m * n)
        self._a = _fragment(operation, 1, "a", entry.a, self._called.a, m * k)
        self._b = _fragment(operation, 2, "b", entry.b, self._called.b, n * k)
        self._c = _fragment(operation, 3, "c", *sums, m * n)

    def write(self) -> None:
        """Loads, instructions, stores."""
        m_tiles, n_tiles, k_tiles = self._tiles
        sums = [self._load(self._c, i) for i in range(m_tiles * n_tiles)]
        for k in range(k_tiles):
            a = [self._load(self._a, m + m_tiles * k) for m in range(m_tiles)]
            b = [self._load(self._b, n + n_tiles * k) for n in range(n_tiles)]
            for n in range(n_tiles):
                for m in range(m_tiles) if n % 2 == 0 else reversed(range(m_tiles)):
                    sums[m + m_tiles * n] = self._multiply(a[m], b[n], sums[m + m_tiles * n])
        for i, value in enumerate(sums):
            self._store(self._d, i, value)

    def _multiply(self, a: Value, b: Value, c: Value) -> Value:
        called = self._called
        zeros = [self._constant(0, _WORD) for _ in range(called.flags)]
        operands = [a, b, c, *zeros]
        if called.signs is not None:
            left, right = (self._constant(int(signed), "i1") for signed in called.signs)
            operands = [left, a, right, b, c, self._constant(0, "i1")]
        return self._build.intrinsic(called.intrinsic, operands, [called.sums]).result

    # memory -----------------------------------------------------------------------------------------------------
    def _load(self, fragment: _WaveFragment, number: int) -> Value:
        """All that a thread has of an operand of one instruction."""
        if fragment.is_whole(number):
            return self._at(fragment, fragment.registers(number)[0], fragment.kind)
        element, count = _register_type(fragment), fragment.count
        kind = f"vector<{count}x{element}>"
        value = self._build.value("llvm.mlir.poison", (), kind)
        for place, offset in enumerate(fragment.registers(number)):
            loaded = self._at(fragment, offset, element)
            operands = (value, loaded, self._constant(place, _WORD))
            value = self._build.value("llvm.insertelement", operands, kind)
        return value if kind == fragment.kind else self._build.value("llvm.bitcast", (value,), fragment.kind)

    def _store(self, fragment: _WaveFragment, number: int, value: Value) -> None:
        memory = self._words.memory(fragment.bytes_)
        if fragment.is_whole(number):
            address = self._address(fragment, fragment.registers(number)[0])
            self._build.operation("llvm.store", (value, address), (), memory)
            return
        element = _register_type(fragment)
        for place, offset in enumerate(fragment.registers(number)):
            part = self._build.value("llvm.extractelement", (value, self._constant(place, _WORD)), element)
            self._build.operation("llvm.store", (part, self._address(fragment, offset)), (), memory)

    def _at(self, fragment: _WaveFragment, offset: int, kind: str) -> Value:
        memory = self._words.memory(fragment.bytes_)
        return self._build.value("llvm.load", (self._address(fragment, offset),), kind, memory)

    def _address(self, fragment: _WaveFragment, offset: int) -> Value:
        attributes = {
            "elem_type": fragment.element,
            "rawConstantIndices": self._build.attribute(f"array<i32: {offset}>"),
        }
        return self._build.value("llvm.getelementptr", (fragment.base,), fragment.base.type, attributes)

    def _constant(self, number: int, kind: str) -> Value:
        return self._build.value("llvm.mlir.constant", (), kind, {"value": self._build.integer(kind, number)})


def _register_type(fragment: _WaveFragment) -> str:
    """The type of a register by itself: of sums an element, of factors bits, except where an element is a register."""
    element = fragment.kind.removeprefix("vector<").removesuffix(">").rpartition("x")[2]
    return element if fragment.together == 1 else _WORD


def _fragment(operation: Operation, operand: int, name: str, kind: str, type_: str, instructions: int) -> _WaveFragment:
    base, offsets = operation.operands[operand], _integers(operation, name)
    element = producer(base).attributes["elem_type"]
    count = len(offsets) // instructions
    return _WaveFragment(base, element, type_, offsets, count, register_bytes(kind), elements_per_register(kind))


def _integers(operation: Operation, name: str) -> list[int]:
    return list(bindings.mlir().DenseI64ArrayAttr(operation.attributes[name]))
