"""The product that needs no instruction of its own: one thread multiplies and adds one number."""

from __future__ import annotations

from dataclasses import dataclass

from triptych.cute.static_expressions import StaticExpression
from triptych.metastage.scalars import Numeric


@dataclass(frozen=True, slots=True)
class MmaUniversalOp(StaticExpression):
    """d = a * b + c of numbers of one type; Float32 and Float64 are rounded once."""

    abacc_dtype: type[Numeric]

    @property
    def a_dtype(self) -> type[Numeric]:
        """The type of the elements of A."""
        return self.abacc_dtype

    @property
    def b_dtype(self) -> type[Numeric]:
        """The type of the elements of B."""
        return self.abacc_dtype

    @property
    def acc_dtype(self) -> type[Numeric]:
        """The type of the elements of C and D."""
        return self.abacc_dtype

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        """The extents M, N and K: one number of each."""
        return 1, 1, 1

    def __str__(self) -> str:
        return f"MmaUniversalOp<{self.abacc_dtype.__name__}>"

    __repr__ = __str__
