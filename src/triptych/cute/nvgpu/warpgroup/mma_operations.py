"""WGMMA operations as objects: types, a shape and where operands lie, which name an entry of `WARPGROUP_MMAS`."""

from __future__ import annotations

import enum

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.mma.atoms import MmaOperands
from triptych.cute.mma.run_time_fields import Fields, RunTimeField
from triptych.cute.mma.typed import TYPES, Shape3, TypedMmaOp
from triptych.cute.nvgpu.shared_operands import shared_fragment
from triptych.cute.nvgpu.warpgroup.mma_emission import emit_group_mma, require_warpgroups
from triptych.cute.tensors.layout_orders import OperandMajorMode
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import UnknownMatrixInstructionError
from triptych.kernel_ir.dialects.mma import WARPGROUP_MMAS, WARPGROUP_THREADS, WarpgroupMma
from triptych.layout import AnyLayout, IntTuple, Layout
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Int8,
    Numeric,
    TFloat32,
    Uint8,
)
from triptych.support.dataclass import dataclass

_WARPGROUP = Layout(WARPGROUP_THREADS, 1)


class OperandSource(enum.Enum):
    """Where A lies."""

    RMEM = "rmem"
    SMEM = "smem"


class Field(enum.Enum):
    """What programs change of a product while the kernel runs."""

    ACCUMULATE = "accumulate"

    def __str__(self) -> str:
        return f"warpgroup.Field.{self.name}"


_FIELDS: Fields = {Field.ACCUMULATE: RunTimeField("accumulate")}


@dataclass(frozen=True, slots=True, repr=False)
class WarpgroupMmaOp(TypedMmaOp):
    """A product that the 128 threads of a warpgroup compute together, while they go on."""

    a_src: OperandSource
    a_major_mode: OperandMajorMode
    b_major_mode: OperandMajorMode

    def __post_init__(self) -> None:
        if self._shape_and_types() not in WARPGROUP_MMAS or self.a_dtype not in self.factors:
            raise self._unknown()
        plain = self.a_major_mode is self.b_major_mode is OperandMajorMode.K
        if not plain and not self.instruction.transposes:
            raise UnknownMatrixInstructionError(
                "only elements of 16 bits may be contiguous along M or N",
                span=place(),
                found=f"A {self.a_major_mode}, B {self.b_major_mode} of {self.a_dtype.__name__}",
                expected="both K",
                instead="OperandMajorMode.K, with matrices that are contiguous along K",
            )
        if self.a_src is OperandSource.RMEM and self.a_major_mode is not OperandMajorMode.K:
            raise UnknownMatrixInstructionError(
                "registers of A have one order",
                span=place(),
                found=f"A {self.a_major_mode} in registers",
                expected="OperandMajorMode.K",
            )

    def _unknown(self) -> UnknownMatrixInstructionError:
        known = [entry for entry in WARPGROUP_MMAS.values() if TYPES[entry.a] in self.factors]
        kinds = list(dict.fromkeys((one.a, one.b, one.accumulator, one.shape_mnk[2]) for one in known))
        columns = "N a multiple of 8 up to 256" + (", from 32 on of 16" if known[0].a in ("s8", "u8") else "")
        return UnknownMatrixInstructionError(
            f"{type(self).__name__} has no such instruction",
            span=place(),
            found=_described(self.a_dtype, self.b_dtype, self.acc_dtype, str(self.shape_mnk)),
            expected="one of "
            + "; ".join(
                _described(TYPES[a], TYPES[b], TYPES[accumulator], f"(64, N, {k})") for a, b, accumulator, k in kinds
            )
            + f", {columns}",
        )

    @property
    def instruction(self) -> WarpgroupMma:
        """Its entry among the instructions."""
        return WARPGROUP_MMAS[self._shape_and_types()]

    @property
    def threads(self) -> Layout:
        """A warpgroup."""
        return _WARPGROUP

    @property
    def tv_layout_A(self) -> Layout:
        """As the instruction distributes A, or all of it for every thread."""
        in_registers = self.a_src is OperandSource.RMEM
        return self.instruction.tv_a if in_registers else self.instruction.tv_shared_a

    @property
    def fields(self) -> Fields:
        """Whether a product is added to D."""
        return _FIELDS

    def space_of(self, operand: str) -> AddressSpace:
        """B in shared memory, A where it was said to be, the sums in registers."""
        shared = operand == "B" or (operand == "A" and self.a_src is OperandSource.SMEM)
        return AddressSpace.smem if shared else AddressSpace.rmem

    def fragment(self, operand: str, source: Tensor | AnyLayout | IntTuple) -> Tensor | None:
        """A view of a partition of shared memory, in slices as instructions read them."""
        if self.space_of(operand) is not AddressSpace.smem:
            return None
        major = self.a_major_mode if operand == "A" else self.b_major_mode
        return shared_fragment(self, operand, source, major)

    def require(self, threads: int) -> None:
        """Whole warpgroups, in a kernel."""
        require_warpgroups(self, threads)

    def emit(self, product: MmaOperands) -> None:
        """All instructions as one operation."""
        emit_group_mma(self.instruction.name, product)


class MmaF16BF16Op(WarpgroupMmaOp):
    """Products of Float16 or of BFloat16."""

    __slots__ = ()
    factors = (Float16, BFloat16)

    @eager
    def __init__(
        self,
        ab_dtype: type[Numeric],
        acc_dtype: type[Numeric],
        instruction_shape: Shape3,
        a_src: OperandSource,
        a_major_mode: OperandMajorMode,
        b_major_mode: OperandMajorMode,
    ) -> None:
        super().__init__(ab_dtype, acc_dtype, instruction_shape, ab_dtype, a_src, a_major_mode, b_major_mode)


class MmaTF32Op(WarpgroupMmaOp):
    """Products of TFloat32; memory may hold Float32, whose low bits the instruction does not read."""

    __slots__ = ()
    factors = (TFloat32,)

    @eager
    def __init__(
        self,
        instruction_shape: Shape3,
        a_src: OperandSource,
        a_major_mode: OperandMajorMode = OperandMajorMode.K,
        b_major_mode: OperandMajorMode = OperandMajorMode.K,
    ) -> None:
        super().__init__(TFloat32, Float32, instruction_shape, TFloat32, a_src, a_major_mode, b_major_mode)


class _MmaOfBytesOp(WarpgroupMmaOp):
    """Factors of one byte."""

    __slots__ = ()

    @eager
    def __init__(
        self,
        a_dtype: type[Numeric],
        b_dtype: type[Numeric],
        acc_dtype: type[Numeric],
        instruction_shape: Shape3,
        a_src: OperandSource,
        a_major_mode: OperandMajorMode,
        b_major_mode: OperandMajorMode,
    ) -> None:
        super().__init__(a_dtype, acc_dtype, instruction_shape, b_dtype, a_src, a_major_mode, b_major_mode)


class MmaF8Op(_MmaOfBytesOp):
    """Products of floats of one byte."""

    __slots__ = ()
    factors = (Float8E4M3FN, Float8E5M2)


class MmaI8Op(_MmaOfBytesOp):
    """Products of integers of one byte."""

    __slots__ = ()
    factors = (Int8, Uint8)


def _described(a: type[Numeric], b: type[Numeric], accumulator: type[Numeric], shape: str) -> str:
    factors = a.__name__ if a is b else f"{a.__name__} * {b.__name__}"
    return f"{factors} with {accumulator.__name__} sums on {shape}"
