"""Typed MMA operations: what matrix instructions of warps, waves and warpgroups share, and the words of their types."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Protocol

from triptych.cute.mma.atoms import MmaOperation
from triptych.layout import Layout
from triptych.metastage.values.scalars import (
    BFloat16,
    Float4E2M1FN,
    Float8E4M3FN,
    Float8E4M3FNUZ,
    Float8E5M2,
    Float8E5M2FNUZ,
    Float8E8M0FNU,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    Numeric,
    TFloat32,
    Uint8,
)
from triptych.support.dataclass import dataclass

Shape3 = tuple[int, int, int]

WORDS: dict[type[Numeric], str] = {
    Float16: "f16",
    BFloat16: "bf16",
    TFloat32: "tf32",
    Float8E4M3FN: "e4m3",
    Float8E5M2: "e5m2",
    Float8E4M3FNUZ: "e4m3fnuz",
    Float8E5M2FNUZ: "e5m2fnuz",
    Float4E2M1FN: "e2m1",
    Int8: "s8",
    Uint8: "u8",
    Float32: "f32",
    Float64: "f64",
    Int32: "s32",
}
TYPES = {word: dtype for dtype, word in WORDS.items()}


SCALE_WORDS: dict[type[Numeric], str] = {Float8E8M0FNU: "ue8m0", Float8E4M3FN: "ue4m3"}
"""The types of block scales, as instructions name them."""


class Instruction(Protocol):
    """An entry of the tables of `triptych.kernel_ir.dialects`."""

    @property
    def name(self) -> str:
        """By which the tables know it."""

    @property
    def tv_a(self) -> Layout:
        """(thread, value) -> m + M * k."""

    @property
    def tv_b(self) -> Layout:
        """(thread, value) -> n + N * k."""

    @property
    def tv_c(self) -> Layout:
        """(thread, value) -> m + M * n."""


@dataclass(frozen=True, slots=True)
class TypedMmaOp(MmaOperation):
    """A product of tiles by an instruction that its element types and its shape name."""

    a_dtype: type[Numeric]
    acc_dtype: type[Numeric]
    shape_mnk: Shape3
    b_dtype: type[Numeric]
    """Behind the others: programs that derive an operation give it a default of their own."""
    factors: ClassVar[tuple[type[Numeric], ...]] = tuple(WORDS)
    """The element types that A may have."""

    @property
    @abstractmethod
    def instruction(self) -> Instruction:
        """Its entry among the instructions."""

    @property
    def ab_dtype(self) -> type[Numeric]:
        """The type of the factors."""
        return self.a_dtype

    @property
    def tv_layout_A(self) -> Layout:
        """As the instruction distributes A."""
        return self.instruction.tv_a

    @property
    def tv_layout_B(self) -> Layout:
        """As the instruction distributes B."""
        return self.instruction.tv_b

    @property
    def tv_layout_C(self) -> Layout:
        """As the instruction distributes C and D."""
        return self.instruction.tv_c

    def _shape_and_types(self) -> str:
        """m16n8k16.f32.f16.f16: the extents, the accumulator, A and B."""
        shape = "".join(f"{letter}{extent}" for letter, extent in zip("mnk", self.shape_mnk, strict=True))
        return ".".join((shape, *(WORDS.get(dtype, "") for dtype in (self.acc_dtype, self.a_dtype, self.b_dtype))))

    def __str__(self) -> str:
        return f"{type(self).__name__}<{self.instruction.name}>"

    __repr__ = __str__
