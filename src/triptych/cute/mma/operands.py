"""Meta-stage, the operands of a product: fragments that fit an atom and one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from triptych.cute.tensors.mma_errors import MatrixOperandError
from triptych.cute.tensors.tensor import Tensor
from triptych.layout import rank
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric


@dataclass(frozen=True, slots=True)
class Operand:
    """A fragment as (values, first mode, second mode); modes that it does not have are 1."""

    name: str
    modes: str
    """The letters of the two modes."""
    tensor: Tensor
    dtype: type[Numeric]
    extents: tuple[int, int, int]

    def offset(self, first: int, second: int) -> Any:
        """Where the only value of a universal atom lies."""
        return self.tensor.offset((0, first, second)[: rank(self.tensor.layout)])


@dataclass(frozen=True, slots=True)
class Product:
    """The checked operands of one call."""

    d: Operand
    a: Operand
    b: Operand
    c: Operand
    accumulate: Any = True
    """Whether C is added: a Boolean, where the operation has a field for it."""

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Atoms along M, N and K."""
        return self.a.extents[1], self.b.extents[1], self.a.extents[2]


def misfit(title: str, found: str, expected: str, instead: str = "") -> MatrixOperandError:
    """The error of an operand that does not fit."""
    return MatrixOperandError(title, span=place(), found=found, expected=expected, instead=instead)
