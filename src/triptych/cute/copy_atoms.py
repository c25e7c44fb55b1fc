"""Meta-stage, copy atoms: a copy instruction for elements of a type, and how many of them it moves at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from triptych.cute.errors import TensorShapeError
from triptych.cute.nvgpu.copy_operations import CopyG2ROp, CopyR2GOp, CopyUniversalOp, MemoryOrder, MemoryScope
from triptych.layout import Layout
from triptych.metastage.errors import OperandTypeError
from triptych.metastage.scalars import Numeric, numeric_class
from triptych.metastage.tracing import place


class StaticExpression:
    """Known while tracing as a whole: crosses branches, loops and launches as the Python object that it is."""

    __slots__ = ()

    def __extract_mlir_values__(self) -> list[Any]:
        return []

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Self:
        return self

    def __static_part__(self) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class CopyAtom(StaticExpression):
    """One thread moves `num_bits_per_copy` bits of elements; 0 leaves the width to what can be proven."""

    op: CopyUniversalOp | CopyG2ROp | CopyR2GOp
    value_type: type[Numeric]
    num_bits_per_copy: int = 0
    memory_order: MemoryOrder = MemoryOrder.WEAK
    memory_scope: MemoryScope = MemoryScope.CTA

    @property
    def together(self) -> int:
        """Elements that one instruction moves."""
        return max(1, self.num_bits_per_copy // self.value_type.width)

    @property
    def thr_id(self) -> Layout:
        """The threads that execute the instruction together: one."""
        return Layout(1, 0)

    @property
    def layout_src_tv(self) -> Layout:
        """(thread, value) -> place among the elements that are read."""
        return Layout((1, self.together), (0, 1))

    layout_dst_tv = layout_src_tv

    def __str__(self) -> str:
        bits = self.num_bits_per_copy or self.value_type.width
        return f"{type(self.op).__name__}<{self.value_type.__name__}, {bits} bits>"


def make_copy_atom(
    op: CopyUniversalOp | CopyG2ROp | CopyR2GOp,
    copy_internal_type: type[Numeric],
    *,
    num_bits_per_copy: int = 0,
    memory_order: MemoryOrder = MemoryOrder.WEAK,
    memory_scope: MemoryScope = MemoryScope.CTA,
) -> CopyAtom:
    """The copy of elements of a type. A width of 0 stands for one element, joined with others where that is right."""
    if not isinstance(op, CopyUniversalOp | CopyG2ROp | CopyR2GOp):
        raise OperandTypeError(
            "this is no copy operation",
            span=place(),
            found=repr(op),
            expected="nvgpu.CopyUniversalOp(), nvgpu.CopyG2ROp() or nvgpu.CopyR2GOp()",
        )
    dtype = numeric_class(copy_internal_type)
    if num_bits_per_copy < 0 or num_bits_per_copy % dtype.width:
        raise TensorShapeError(
            f"{num_bits_per_copy} bits are not a number of whole {dtype.__name__}",
            span=place(),
            found=f"num_bits_per_copy={num_bits_per_copy}",
            expected=f"a multiple of {dtype.width}",
        )
    return CopyAtom(op, dtype, num_bits_per_copy, memory_order, memory_scope)
