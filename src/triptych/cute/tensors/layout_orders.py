"""Major mode of a matrix, the contiguous one, as a name that programs branch on while tracing."""

from __future__ import annotations

import enum
from typing import Any, Protocol

from triptych.cute.tracing.errors import TensorShapeError
from triptych.layout import leading_dim
from triptych.metastage.trace.trace import place


class HasLayout(Protocol):
    """A tensor of the program, or what stands for one outside it."""

    @property
    def layout(self) -> Any: ...


class OperandMajorMode(enum.Enum):
    """Which mode of an operand of a product is contiguous: the one that the product sums over, or the other one."""

    MN = "mn"
    K = "k"


class LayoutEnum(enum.Enum):
    """The order of a matrix (rows, columns, ...): neighbours in a row, or in a column, are neighbours in memory."""

    ROW_MAJOR = "row_major"
    COL_MAJOR = "col_major"

    @staticmethod
    def from_tensor(tensor: HasLayout) -> LayoutEnum:
        """The order of a tensor whose strides say it; a step of 1 in the second mode is ROW_MAJOR."""
        shape, stride = tensor.layout.shape, tensor.layout.stride
        leading = leading_dim(shape, stride)
        if leading == 1:
            return LayoutEnum.ROW_MAJOR
        if leading == 0:
            return LayoutEnum.COL_MAJOR
        raise TensorShapeError(
            "neither rows nor columns are contiguous",
            span=place(),
            found=f"the layout {tensor.layout}",
            expected="a step of 1, known while tracing, in the first or the second mode",
            instead="`from_dlpack(x).mark_layout_dynamic(leading_dim=...)` for a tensor with an extent of 1",
        )

    def mma_major_mode(self) -> OperandMajorMode:
        """Of A as (m, k), or of B as (n, k)."""
        return OperandMajorMode.K if self is LayoutEnum.ROW_MAJOR else OperandMajorMode.MN

    sm90_mma_major_mode = mma_major_mode

    def is_k_major_a(self) -> bool:
        """Of A as (m, k)."""
        return self is LayoutEnum.ROW_MAJOR

    def is_m_major_a(self) -> bool:
        """Of A as (m, k)."""
        return self is LayoutEnum.COL_MAJOR

    def is_k_major_b(self) -> bool:
        """Of B as (n, k)."""
        return self is LayoutEnum.ROW_MAJOR

    def is_n_major_b(self) -> bool:
        """Of B as (n, k)."""
        return self is LayoutEnum.COL_MAJOR

    def is_n_major_c(self) -> bool:
        """Of C as (m, n)."""
        return self is LayoutEnum.ROW_MAJOR

    def is_m_major_c(self) -> bool:
        """Of C as (m, n)."""
        return self is LayoutEnum.COL_MAJOR
