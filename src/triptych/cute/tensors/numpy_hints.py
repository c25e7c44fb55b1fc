"""NumPy hints: what to write instead of operators, `len`, truth and methods that people know from arrays.

A tensor is memory; its elements become a value by `.load()`, and values have operators.
"""

from __future__ import annotations

from typing import Any

from triptych.cute.tracing.errors import TensorTruthError
from triptych.diagnostics.likely_mistakes import TENSORS, missing_attribute
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.operators import ForeignOperand, Operators


class NumpyHints(ForeignOperand, Operators):
    """The refusals of a tensor."""

    __slots__ = ()

    _called = "a tensor"
    _looked_for = TENSORS

    @staticmethod
    def _operate(op: str, left: object, right: object) -> Any:
        if op in ("==", "!=") and not (_computes(left) and _computes(right)):
            return NotImplemented  # as between any two objects: with None, with a text
        raise OperandTypeError(
            f"a tensor has no operator {op}: it is memory",
            span=place(),
            found=f"{_shown(left)} {op} {_shown(right)}",
            expected="tensor values, which `.load()` gives, or elements",
            instead=_instead(op, left, right),
        )

    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        return self._operate("-", 0, self)

    def __abs__(self) -> Any:
        raise missing_attribute(self._called, "abs", TENSORS, [], span=place())

    def __invert__(self) -> Any:
        return self._operate("^", self, -1)

    def __matmul__(self, other: object) -> Any:
        return self._operate("@", self, other)

    def __len__(self) -> int:
        raise OperandTypeError(
            "a tensor has no len()",
            span=place(),
            found=str(self),
            expected="a sequence whose length is known while tracing",
            instead="`x.shape[0]`, the extent of the first mode, or `cute.size(x)`, the number of elements",
        )

    def __bool__(self) -> bool:
        raise TensorTruthError(
            "a tensor is not one truth value",
            span=place(),
            found=str(self),
            expected="one Boolean",
            instead="`x is not None`, or a condition on an element, as `x[0] > 0`",
        )


def _computes(value: object) -> bool:
    return isinstance(value, ForeignOperand | int | float)


def _shown(value: object) -> str:
    return "a tensor" if isinstance(value, NumpyHints) else type(value).__name__


def _instead(op: str, left: object, right: object) -> str:
    if op == "@":
        return "`cute.gemm(atom, d, a, b, c)`, or a loop over the elements"
    if op in ("<", "<=", ">", ">=", "==", "!="):
        return f"`x[i] {op} y[i]`, or `x.load() {op} y.load()` and `cute.any_(...)` or `cute.where(...)`"
    sides = ["x.load()" if isinstance(side, NumpyHints) else "value" for side in (left, right)]
    return f"`z.store({sides[0]} {op} {sides[1]})` of a static shape, or `z[i] = x[i] {op} ...` of an element"
