"""Warp-level MMA operations: element types and a shape, which name an entry of `WARP_MMAS`."""

from __future__ import annotations

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.mma.atoms import MmaOperands
from triptych.cute.mma.register_products import described, emit_tile_mma, require_threads, written
from triptych.cute.mma.typed import TYPES, WORDS, Shape3, TypedMmaOp
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import UnknownMatrixInstructionError
from triptych.kernel_ir.dialects.mma import WARP_MMAS, WarpMma
from triptych.kernel_ir.dialects.tile import WARP_THREADS
from triptych.layout import Layout
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


@dataclass(frozen=True, slots=True, repr=False)
class OfWarp(TypedMmaOp):
    """A product of registers that the 32 threads of a warp compute together."""

    @property
    def threads(self) -> Layout:
        """A warp."""
        return Layout(WARP_THREADS, 1)

    @property
    def operand_space(self) -> AddressSpace:
        """Registers."""
        return AddressSpace.rmem

    def require(self, threads: int) -> None:
        """Whole warps, in a kernel."""
        require_threads(self, threads)


@dataclass(frozen=True, slots=True, repr=False)
class WarpMmaOp(OfWarp):
    """A product that the 32 threads of a warp compute together."""

    def __post_init__(self) -> None:
        if self._name() not in WARP_MMAS or self.a_dtype not in self.factors:
            known = [entry for entry in WARP_MMAS.values() if TYPES[entry.a] in self.factors]
            raise UnknownMatrixInstructionError(
                f"{type(self).__name__} has no such instruction",
                span=place(),
                found=described(self.a_dtype, self.b_dtype, self.acc_dtype, self.shape_mnk),
                expected="one of " + "; ".join(map(written, known)),
                instead=self._nearest(known),
            )

    def _nearest(self, known: list[WarpMma]) -> str:
        """The instruction that shares most with what was asked for."""
        asked = {self.a_dtype, self.acc_dtype, self.shape_mnk}
        shared = [len(asked & {TYPES[one.a], TYPES[one.accumulator], one.shape_mnk}) for one in known]
        return written(known[shared.index(max(shared))])

    @property
    def instruction(self) -> WarpMma:
        """Its entry among the instructions."""
        return WARP_MMAS[self._name()]

    def emit(self, product: MmaOperands) -> None:
        """All instructions as one operation."""
        emit_tile_mma(self.instruction, product)

    def _name(self) -> str:
        return f"{self._shape_and_types()}.{WORDS.get(self.acc_dtype, '')}"


class MmaF16BF16Op(WarpMmaOp):
    """Products of Float16 or of BFloat16."""

    __slots__ = ()
    factors = (Float16, BFloat16)

    @eager
    def __init__(self, ab_dtype: type[Numeric], acc_dtype: type[Numeric], shape_mnk: Shape3) -> None:
        super().__init__(ab_dtype, acc_dtype, shape_mnk, ab_dtype)


class MmaTF32Op(WarpMmaOp):
    """Products of TFloat32; registers may hold Float32, whose low bits the instruction does not read."""

    __slots__ = ()
    factors = (TFloat32,)

    @eager
    def __init__(self, shape_mnk: Shape3) -> None:
        super().__init__(TFloat32, Float32, shape_mnk, TFloat32)


class _WarpMmaOfBytesOp(WarpMmaOp):
    """Factors of one byte; `b_dtype` only where B has another type than A."""

    __slots__ = ()

    @eager
    def __init__(
        self,
        ab_dtype: type[Numeric],
        acc_dtype: type[Numeric],
        shape_mnk: Shape3,
        *,
        b_dtype: type[Numeric] | None = None,
    ) -> None:
        super().__init__(ab_dtype, acc_dtype, shape_mnk, b_dtype or ab_dtype)


class MmaFP8Op(_WarpMmaOfBytesOp):
    """Products of floats of one byte."""

    __slots__ = ()
    factors = (Float8E4M3FN, Float8E5M2)


class MmaI8Op(_WarpMmaOfBytesOp):
    """Products of integers of one byte."""

    __slots__ = ()
    factors = (Int8, Uint8)
