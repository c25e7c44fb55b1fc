"""Warp-level MMA operations with block scales: element types, which name an entry of `SCALED_WARP_MMAS`."""

from __future__ import annotations

from typing import ClassVar

from triptych.cute.mma.atoms import BlockScales, MmaOperands, Operand
from triptych.cute.mma.typed import SCALE_WORDS, WORDS, Shape3
from triptych.cute.nvgpu.warp.mma_operations import OfWarp
from triptych.cute.tensors.register_arrays import array_of, register_offsets
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tensors.views import filter_zeros
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import UnknownMatrixInstructionError
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.mma import SCALED_WARP_MMAS, ScaledWarpMma
from triptych.kernel_ir.dialects.tile import MMA_BLOCK_SCALE
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import (
    Float4E2M1FN,
    Float8E4M3FN,
    Float8E5M2,
    Float8E8M0FNU,
    Float32,
    Int8,
    Numeric,
)
from triptych.support.dataclass import dataclass

MXF8F6F4_SUPPORTED_PAIRS = frozenset(
    pair for fp8 in (Float8E4M3FN, Float8E5M2) for pair in ((Float4E2M1FN, fp8), (fp8, Float4E2M1FN))
)
"""Types of A and of B that `MmaMXF8F6F4Op` multiplies."""


@dataclass(frozen=True, slots=True, repr=False)
class ScaledWarpMmaOp(OfWarp):
    """A product that the 32 threads of a warp compute together, with a scale for each few elements of a row."""

    sf_dtype: type[Numeric]
    kind: ClassVar[str]
    """The kind of instruction, in the words of PTX."""
    pairs: ClassVar[frozenset[tuple[type[Numeric], type[Numeric]]]]
    """What A and B may be."""
    scale_dtype: ClassVar[type[Numeric]] = Float8E8M0FNU
    depth: ClassVar[int] = 32

    def __post_init__(self) -> None:
        given = self.a_dtype, self.b_dtype
        if given in self.pairs and self.acc_dtype is Float32 and self.sf_dtype is self.scale_dtype:
            return
        known = "; ".join(sorted(_described(*pair, Float32, self.scale_dtype) for pair in self.pairs))
        raise UnknownMatrixInstructionError(
            f"{type(self).__name__} has no such instruction",
            span=place(),
            found=_described(*given, self.acc_dtype, self.sf_dtype),
            expected=f"one of {known}" if len(self.pairs) > 1 else known,
        )

    @property
    def instruction(self) -> ScaledWarpMma:
        """Its entry among the instructions."""
        a, b, scale = WORDS[self.a_dtype], WORDS[self.b_dtype], SCALE_WORDS[self.sf_dtype]
        found = (one for one in SCALED_WARP_MMAS.values() if (one.kind, one.a, one.b) == (self.kind, a, b))
        return next(one for one in found if one.scale == scale)

    @property
    def sf_vec_size(self) -> int:
        """Elements along K that share a scale."""
        return self.instruction.vector

    @property
    def scales(self) -> BlockScales:
        """As the instruction takes them."""
        known = self.instruction
        return BlockScales(self.sf_dtype, known.vector, known.tv_scales_a, known.tv_scales_b)

    def held_dtype(self, operand: str) -> type[Numeric]:
        """A byte for each element, where the instruction wants one for four bits."""
        dtype = self.a_dtype if operand == "A" else self.b_dtype
        return Int8 if dtype.width < self.instruction.container_bits else dtype

    def emit(self, product: MmaOperands) -> None:
        """All instructions as one operation."""
        trace, known = tracing(), self.instruction
        builder = trace.builder
        operands = [product.d, product.a, product.b, product.c, product.sfa, product.sfb]
        attributes = {"instruction": builder.string(known.name), "tiles": builder.integers(product.tiles)}
        arrays = []
        for operand in operands:
            assert operand is not None, "`gemm` refuses this product without scales"
            array, offsets = _registers(operand, known.scales)
            arrays.append(array)
            attributes[operand.name.lower()] = builder.integers(offsets)
        trace.operation(MMA_BLOCK_SCALE, arrays, attributes=attributes)


def _registers(operand: Operand, scales: int) -> tuple[Value, list[int]]:
    """The array of an operand and where registers begin in it; of scales, where the bytes of each tile begin."""
    array, start = array_of(operand.tensor, operand.name)
    if operand.name not in ("SFA", "SFB"):
        return array, register_offsets(operand.tensor, start, operand.modes, operand.name, operand.extents)
    once: Tensor = filter_zeros(operand.tensor)
    extents = (scales, *operand.extents[1:])
    return array, register_offsets(once, start, operand.modes, operand.name, extents, scales)


class _ScaledOfOneType(ScaledWarpMmaOp):
    """A and B of one type."""

    __slots__ = ()

    @eager
    def __init__(self, ab_dtype: type[Numeric], acc_dtype: type[Numeric], sf_dtype: type[Numeric]) -> None:
        super().__init__(ab_dtype, acc_dtype, _shape(self.depth), ab_dtype, sf_dtype)


class MmaMXF8Op(_ScaledOfOneType):
    """Products of floats of eight bits, a power of two for each 32."""

    __slots__ = ()
    kind = "mxf8f6f4"
    pairs = frozenset({(Float8E4M3FN, Float8E4M3FN), (Float8E5M2, Float8E5M2)})


class MmaMXF4Op(_ScaledOfOneType):
    """Products of floats of four bits, a power of two for each 32."""

    __slots__ = ()
    kind = "mxf4"
    pairs = frozenset({(Float4E2M1FN, Float4E2M1FN)})
    depth = 64


class MmaMXF4NVF4Op(_ScaledOfOneType):
    """Products of floats of four bits, a float of eight bits for each 16."""

    __slots__ = ()
    kind = "mxf4nvf4"
    pairs = frozenset({(Float4E2M1FN, Float4E2M1FN)})
    scale_dtype = Float8E4M3FN
    depth = 64


class MmaMXF8F6F4Op(ScaledWarpMmaOp):
    """Products of floats of four bits with floats of eight; registers hold four bits in the bits 2 to 5 of a byte."""

    __slots__ = ()
    kind = "mxf8f6f4"
    pairs = MXF8F6F4_SUPPORTED_PAIRS

    @eager
    def __init__(
        self, a_dtype: type[Numeric], b_dtype: type[Numeric], acc_dtype: type[Numeric], sf_dtype: type[Numeric]
    ) -> None:
        super().__init__(a_dtype, acc_dtype, _shape(self.depth), b_dtype, sf_dtype)


def _shape(depth: int) -> Shape3:
    return 16, 8, depth


def _described(a: type[Numeric], b: type[Numeric], accumulator: type[Numeric], scales: type[Numeric]) -> str:
    factors = a.__name__ if a is b else f"{a.__name__} with {b.__name__}"
    return f"{factors} into {accumulator.__name__}, scales of {scales.__name__}"
