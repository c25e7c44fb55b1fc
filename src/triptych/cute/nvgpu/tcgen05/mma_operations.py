"""UMMA operations as objects (`tcgen05.mma`): types, a shape, how many CTAs, and where operands lie."""

from __future__ import annotations

import enum
from typing import ClassVar

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.addresses import checks_bounds
from triptych.cute.memory.pointers import Pointer
from triptych.cute.mma.atoms import BlockScales, MmaOperands, Operand, misfit
from triptych.cute.mma.run_time_fields import Fields, RunTimeField
from triptych.cute.mma.typed import SCALE_WORDS, Shape3, TypedMmaOp
from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.nvgpu.shared_operands import keeps_wide_pieces, shared_fragment, slices
from triptych.cute.nvgpu.tcgen05.smem_descriptors import second_buffer
from triptych.cute.tensors.layout_orders import OperandMajorMode
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import device_trace, tracing
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import UnknownMatrixInstructionError
from triptych.diagnostics.runtime_errors import OutOfBoundsError
from triptych.ir.handles import Value
from triptych.kernel_ir.analysis.addresses import AddressForms
from triptych.kernel_ir.dialects.block_scales import CHUNK_ROWS, SCALE_BITS, chunks_of
from triptych.kernel_ir.dialects.mma import WIDTHS
from triptych.kernel_ir.dialects.tensor_memory import (
    LANES,
    WARP_LANES,
    accumulator_layout,
    accumulator_words,
    address_step,
    operand_layout,
)
from triptych.kernel_ir.dialects.tile import UMMA
from triptych.kernel_ir.dialects.umma import DEPTH_BITS, LONG_DEPTH_BITS, Umma, umma
from triptych.layout import AnyLayout, ComposedLayout, IntTuple, Layout, size
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import (
    BFloat16,
    Boolean,
    Float4E2M1FN,
    Float8E4M3FN,
    Float8E5M2,
    Float8E8M0FNU,
    Float16,
    Float32,
    Int8,
    Int32,
    Numeric,
    TFloat32,
    Uint8,
    materialize,
)
from triptych.support.dataclass import dataclass


class OperandSource(enum.Enum):
    """Where A lies."""

    SMEM = "smem"
    TMEM = "tmem"


class Field(enum.Enum):
    """What programs change of a product while the kernel runs."""

    ACCUMULATE = "accumulate"
    SFA = "scales of A"
    SFB = "scales of B"

    def __str__(self) -> str:
        return f"tcgen05.Field.{self.name}"


_FIELDS: Fields = {Field.ACCUMULATE: RunTimeField("accumulate", initial=False)}


@dataclass(frozen=True, slots=True, repr=False)
class UmmaOp(TypedMmaOp):
    """A product of tiles of shared memory, or A of tensor memory, into tensor memory, which one thread begins."""

    cta_group: CtaGroup
    a_src: OperandSource
    a_major_mode: OperandMajorMode
    b_major_mode: OperandMajorMode
    depth_bits: ClassVar[int] = DEPTH_BITS
    """What it takes of a row."""

    def __post_init__(self) -> None:
        is_deep = self.a_dtype in self.factors and self.shape_mnk[2] * self.a_dtype.width == self.depth_bits
        if umma(self._name()) is None or not is_deep:
            raise self._unknown()
        rows = self.shape_mnk[0] // self.cta_group.value
        has_rows = rows == LANES or self.cta_group is CtaGroup.ONE
        is_read = has_rows and self.a_major_mode is OperandMajorMode.K and not self.instruction.scale
        if self.a_src is OperandSource.TMEM and not is_read:
            raise UnknownMatrixInstructionError(
                "A of this product is not read from tensor memory",
                span=place(),
                found=f"{self.instruction.name} with {rows} rows of A in each CTA, {self.a_major_mode}",
                expected=f"{LANES} rows in each CTA of a pair, {LANES // 2} or {LANES} in one, along K, without block "
                "scales; or OperandSource.SMEM",
            )

    def _name(self) -> str:
        return f"{self._shape_and_types()}.cta{self.cta_group.value}"

    def _unknown(self) -> UnknownMatrixInstructionError:
        a, b, d = (kind.__name__ for kind in (self.a_dtype, self.b_dtype, self.acc_dtype))
        depth = self.depth_bits // self.factors[0].width
        rows = "64 or 128" if self.cta_group is CtaGroup.ONE else "128 or 256"
        return UnknownMatrixInstructionError(
            f"{type(self).__name__} has no such instruction",
            span=place(),
            found=f"{a} * {b} with {d} sums on {self.shape_mnk} by {self.cta_group}{self._given_scales()}",
            expected=f"factors of {' or '.join(kind.__name__ for kind in self.factors)}, M of {rows}, "
            f"N a multiple of {8 * self.cta_group.value} up to 256 (of 16 for bytes), K of {depth}"
            f"{self._possible_scales()}",
        )

    def _given_scales(self) -> str:
        return ""

    def _possible_scales(self) -> str:
        return ""

    @property
    def instruction(self) -> Umma:
        """Its entry among the instructions."""
        found = umma(self._name())
        assert found is not None, "checked when it was made"
        return found

    @property
    def threads(self) -> Layout:
        """The CTAs that compute it together."""
        return self.instruction.threads

    @property
    def fields(self) -> Fields:
        """Whether a product is added to D: not before anybody says so."""
        return _FIELDS

    def space_of(self, operand: str) -> AddressSpace:
        """Factors in shared memory, sums in tensor memory, and A in either."""
        is_shared = operand == "B" or (operand == "A" and self.a_src is OperandSource.SMEM)
        return AddressSpace.smem if is_shared else AddressSpace.tmem

    def fragment(self, operand: str, source: Tensor | AnyLayout | IntTuple) -> Tensor:
        """A view of a partition of shared memory, or tensor memory for sums, or for A, of a shape."""
        if self.space_of(operand) is AddressSpace.tmem:
            return self._in_tensor_memory(operand, source)
        major = self.a_major_mode if operand == "A" else self.b_major_mode
        width = (self.a_dtype if operand == "A" else self.b_dtype).width
        return shared_fragment(self, operand, source, major, keeps_wide_pieces(major, width))

    def _in_tensor_memory(self, operand: str, source: Tensor | AnyLayout | IntTuple) -> Tensor:
        shape = source.layout.shape if isinstance(source, Tensor) else source
        shape = shape.shape if isinstance(shape, Layout | ComposedLayout) else shape
        m, n, k = self.shape_mnk
        if not isinstance(shape, tuple) or size(shape[0]) != m // self.cta_group.value * (n if operand == "C" else k):
            expected = f"what partition_shape_{operand} gives, and stages after it"
            raise misfit(f"{operand} of another shape", str(shape), expected)
        if operand == "C":
            words = accumulator_words(m, n, self.cta_group.value)
            beside_a = self.a_src is OperandSource.TMEM
            layout = accumulator_layout(words, shape[1:], WIDTHS[self.instruction.accumulator], whole=beside_a)
        else:
            layout = operand_layout(m // self.cta_group.value, k, shape[1:], self.a_dtype.width)
        start = materialize(0, Int32.info, tracing())
        dtype = self.acc_dtype if operand == "C" else self.a_dtype
        return Tensor(Pointer(start, dtype, AddressSpace.tmem, 16), layout)

    def emit(self, product: MmaOperands) -> None:
        """All instructions as one operation."""
        _emit(self.instruction, product)


class MmaF16BF16Op(UmmaOp):
    """Products of Float16 or of BFloat16."""

    __slots__ = ()
    factors = (Float16, BFloat16)

    @eager
    def __init__(
        self,
        ab_dtype: type[Numeric],
        acc_dtype: type[Numeric],
        instruction_shape: Shape3,
        cta_group: CtaGroup,
        a_src: OperandSource,
        a_major_mode: OperandMajorMode,
        b_major_mode: OperandMajorMode,
    ) -> None:
        super().__init__(ab_dtype, acc_dtype, instruction_shape, ab_dtype, cta_group, a_src, a_major_mode, b_major_mode)


class MmaTF32Op(UmmaOp):
    """Products of TFloat32; memory may hold Float32, whose low bits the instruction does not read."""

    __slots__ = ()
    factors = (TFloat32,)

    @eager
    def __init__(
        self,
        instruction_shape: Shape3,
        cta_group: CtaGroup,
        a_src: OperandSource,
        a_major_mode: OperandMajorMode,
        b_major_mode: OperandMajorMode,
    ) -> None:
        super().__init__(TFloat32, Float32, instruction_shape, TFloat32, cta_group, a_src, a_major_mode, b_major_mode)


class MmaI8Op(UmmaOp):
    """Products of integers of one byte."""

    __slots__ = ()
    factors = (Int8, Uint8)

    @eager
    def __init__(
        self,
        ab_dtype: type[Numeric],
        instruction_shape: Shape3,
        cta_group: CtaGroup,
        a_src: OperandSource,
        a_major_mode: OperandMajorMode,
        b_major_mode: OperandMajorMode,
    ) -> None:
        super().__init__(ab_dtype, Int32, instruction_shape, ab_dtype, cta_group, a_src, a_major_mode, b_major_mode)


class MmaF8F6F4Op(UmmaOp):
    """Products of floats of one byte."""

    __slots__ = ()
    factors = (Float8E4M3FN, Float8E5M2)

    @eager
    def __init__(
        self,
        a_dtype: type[Numeric],
        b_dtype: type[Numeric],
        acc_dtype: type[Numeric],
        instruction_shape: Shape3,
        cta_group: CtaGroup,
        a_src: OperandSource,
        a_major_mode: OperandMajorMode,
        b_major_mode: OperandMajorMode,
    ) -> None:
        super().__init__(a_dtype, acc_dtype, instruction_shape, b_dtype, cta_group, a_src, a_major_mode, b_major_mode)


class ByteFloatsOfOneTypeOp(MmaF8F6F4Op):
    """The same by an older name, with one type of both operands."""

    __slots__ = ()

    @eager
    def __init__(
        self,
        ab_dtype: type[Numeric],
        acc_dtype: type[Numeric],
        instruction_shape: Shape3,
        cta_group: CtaGroup,
        a_src: OperandSource,
        a_major_mode: OperandMajorMode,
        b_major_mode: OperandMajorMode,
    ) -> None:
        super().__init__(ab_dtype, ab_dtype, acc_dtype, instruction_shape, cta_group, a_src, a_major_mode, b_major_mode)


@dataclass(frozen=True, slots=True, repr=False)
class ScaledUmmaOp(UmmaOp):
    """A product whose operands have a scale for each 16 or 32 elements along K, in tensor memory."""

    sf_dtype: type[Numeric] = Float8E8M0FNU
    sf_vec_size: int = 32

    def _name(self) -> str:
        scale = SCALE_WORDS.get(self.sf_dtype, self.sf_dtype.__name__)
        return f"{self._shape_and_types()}.cta{self.cta_group.value}.{scale}x{self.sf_vec_size}"

    def _given_scales(self) -> str:
        return f", {self.sf_dtype.__name__} scales of {self.sf_vec_size} elements"

    def _possible_scales(self) -> str:
        """Those of the formats; a class has one or two of them."""
        return "; scales of Float8E8M0FNU, or of Float8E4M3FN for 16 elements of four bits"

    @property
    def fields(self) -> Fields:
        """Whether a product is added to D, and where the scales are."""
        sfa, sfb = (RunTimeField(f"{name}_address", scale=self.sf_dtype) for name in ("sfa", "sfb"))
        return {**_FIELDS, Field.SFA: sfa, Field.SFB: sfb}

    @property
    def scales(self) -> BlockScales:
        """As tensor memory has them: of whole chunks of 128 rows, in all four quarters of the lanes."""
        m, n, k = self.shape_mnk
        a, b = (
            Layout((1, LANES // WARP_LANES * CHUNK_ROWS * chunks_of(rows) * k), (0, 1))
            for rows in (m // self.cta_group.value, n)
        )
        return BlockScales(self.sf_dtype, self.sf_vec_size, a, b)


class MmaMXF8F6F4Op(ScaledUmmaOp):
    """Products of floats of one byte, 32 of which share a power of two."""

    __slots__ = ()
    factors = (Float8E4M3FN, Float8E5M2)

    @eager
    def __init__(
        self,
        a_dtype: type[Numeric],
        b_dtype: type[Numeric],
        instruction_shape: Shape3,
        cta_group: CtaGroup,
        a_src: OperandSource,
        a_major_mode: OperandMajorMode,
        b_major_mode: OperandMajorMode,
    ) -> None:
        super().__init__(a_dtype, Float32, instruction_shape, b_dtype, cta_group, a_src, a_major_mode, b_major_mode)


class ScaledByteFloatsOfOneTypeOp(MmaMXF8F6F4Op):
    """The same by an older name, with one type of both operands."""

    __slots__ = ()

    @eager
    def __init__(
        self,
        ab_dtype: type[Numeric],
        instruction_shape: Shape3,
        cta_group: CtaGroup,
        a_src: OperandSource,
        a_major_mode: OperandMajorMode,
        b_major_mode: OperandMajorMode,
    ) -> None:
        super().__init__(ab_dtype, ab_dtype, instruction_shape, cta_group, a_src, a_major_mode, b_major_mode)


class MmaMXF4Op(ScaledUmmaOp):
    """Products of floats of four bits, 32 of which share a power of two."""

    __slots__ = ()
    factors = (Float4E2M1FN,)

    @eager
    def __init__(self, instruction_shape: Shape3, cta_group: CtaGroup, a_src: OperandSource) -> None:
        k = OperandMajorMode.K
        super().__init__(Float4E2M1FN, Float32, instruction_shape, Float4E2M1FN, cta_group, a_src, k, k)


class MmaMXF4NVF4Op(ScaledUmmaOp):
    """Products of floats of four bits, 16 of which share a scale."""

    __slots__ = ()
    factors = (Float4E2M1FN,)

    @eager
    def __init__(
        self, sf_dtype: type[Numeric], instruction_shape: Shape3, cta_group: CtaGroup, a_src: OperandSource
    ) -> None:
        k = OperandMajorMode.K
        super().__init__(Float4E2M1FN, Float32, instruction_shape, Float4E2M1FN, cta_group, a_src, k, k, sf_dtype, 16)


class LongScaledUmmaOp(ScaledUmmaOp):
    """A product of 96 elements of four bits along K (sm_103a), in memory that is described as bytes: three chunks of 16
    bytes of each row, which may begin in one buffer and end in a second one."""

    __slots__ = ()
    factors = (Float4E2M1FN,)
    depth_bits = LONG_DEPTH_BITS

    def held_dtype(self, operand: str) -> type[Numeric]:
        """Descriptors are of bytes."""
        return Uint8


class SM103MmaMXF4Op(LongScaledUmmaOp):
    """Products of floats of four bits, 32 of which share a power of two, K = 96."""

    __slots__ = ()

    @eager
    def __init__(self, instruction_shape: Shape3, cta_group: CtaGroup, a_src: OperandSource) -> None:
        k = OperandMajorMode.K
        super().__init__(Float4E2M1FN, Float32, instruction_shape, Float4E2M1FN, cta_group, a_src, k, k)


class SM103MmaMXF4NVF4Op(LongScaledUmmaOp):
    """Products of floats of four bits, 16 of which share a scale, K = 96."""

    __slots__ = ()

    @eager
    def __init__(
        self, sf_dtype: type[Numeric], instruction_shape: Shape3, cta_group: CtaGroup, a_src: OperandSource
    ) -> None:
        k = OperandMajorMode.K
        super().__init__(Float4E2M1FN, Float32, instruction_shape, Float4E2M1FN, cta_group, a_src, k, k, sf_dtype, 16)


# emission: one operation stands for all instructions of a call, and one thread of the warp begins them ---------------
def _emit(instruction: Umma, product: MmaOperands) -> None:
    """One `tile.umma` for all instructions of a product."""
    trace = device_trace()
    builder = trace.builder
    d, c = product.d.tensor, product.c.tensor
    _require_in_place(d, c)
    attributes = {
        "instruction": builder.string(instruction.name),
        "tiles": builder.integers(product.tiles),
        "d": builder.integers(_tile_addresses(product.d)),
    }
    operands = [d.pointer.ir_value()]
    for operand in (product.a, product.b):
        if operand.tensor.memspace is AddressSpace.smem:
            pointer, places, lies = slices(operand)
        else:
            pointer, places, lies = operand.tensor.pointer.ir_value(), _tile_addresses(operand), []
        name = operand.name.lower()
        attributes[name], attributes[f"{name}_operand"] = builder.integers(places), builder.integers(lies)
        operands.append(pointer)
    operands.append(materialize(product.accumulate, Boolean.info, trace))
    if instruction.scale:
        for name, tensor, field in (
            ("sfa", product.sfa, product.sfa_address),
            ("sfb", product.sfb, product.sfb_address),
        ):
            start, steps = _scale_addresses(product.tiles, tensor, field)
            attributes[name] = builder.integers(steps)
            operands.append(start)
    if instruction.is_long:
        operands += [second_buffer(operand) for operand in (product.a, product.b)]
    trace.operation(UMMA, operands, attributes=attributes)


def _require_in_place(d: Tensor, c: Tensor) -> None:
    """Refuse sums that are not where D is; where only the run knows, checked builds compare."""
    forms = AddressForms()
    here, there = (forms.address(tensor.pointer.ir_value()) for tensor in (d, c))
    title, found, expected = "D is not C: UMMA accumulates in place", f"D {d} and C {c}", "the same tensor twice"
    instead = "cute.gemm(tiled_mma, sums, a, b, sums)"
    if d.layout != c.layout or (here != there and (here.memory, here.terms) == (there.memory, there.terms)):
        raise misfit(title, found, expected, instead)
    if here != there and checks_bounds():
        trace = device_trace()
        same = trace.value(
            "arith.cmpi",
            [each.pointer.ir_value() for each in (d, c)],
            "i1",
            {"predicate": trace.builder.integer("i64", 0)},
        )
        check(trace, same, OutOfBoundsError.__name__, title, found=found, expected=expected, instead=instead)


def _scale_addresses(
    tiles: tuple[int, int, int], scales: Operand | None, field: Int32 | None
) -> tuple[Value, list[int]]:
    """Where the scales of the first instruction are, and how much further those of each along K: of a tensor, or of a
    field for one instruction."""
    if tiles[:2] != (1, 1) or (scales is None and tiles[2] != 1):
        raise misfit(
            "scales are of one instruction along M and N, and those that fields say of one along K",
            f"{tiles} instructions along (M, N, K)",
            "a product of one",
            "cute.gemm(tiled_mma, sums, [a, scales of a], [b, scales of b], sums)",
        )
    if scales is None:
        assert field is not None, "there are scales in a tensor, or a field says where"
        return field.ir_value(), [0]
    layout = scales.tensor.layout
    steps = [address_step(layout((0, 0, k)[: len(layout)]), SCALE_BITS) for k in range(tiles[2])]
    return scales.tensor.pointer.ir_value(), steps


def _tile_addresses(operand: Operand) -> list[int]:
    """What the address of each tile (m, n) of D, or (m, k) of A, is further than that of the first."""
    layout, (_, rows, columns) = operand.tensor.layout, operand.extents
    if not layout.is_static:
        title = f"where the tiles of {operand.name} are is not known while tracing"
        raise misfit(title, str(operand.tensor), "static modes")
    places = [layout((0, first, second)[: len(layout)]) for second in range(columns) for first in range(rows)]
    return [address_step(place, operand.dtype.width) for place in places]
