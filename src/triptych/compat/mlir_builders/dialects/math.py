"""Builder calls of functions of numbers: `cutlass._mlir.dialects.math`."""

from __future__ import annotations

from typing import Any

from triptych.compat.mlir_builders.values import Value, raw
from triptych.cute import math
from triptych.cute.tracing.device import tracing
from triptych.ir.types import type_text
from triptych.metastage.values.scalars import Numeric

__all__ = ["absf", "absi", "log"]


def __dir__() -> list[str]:
    return __all__


def log(operand: Numeric, *, fastmath: object = None, **_: object) -> Any:
    """The natural logarithm."""
    return math.log(operand)


def absf(operand: Numeric | Value, *, fastmath: object = None, **_: object) -> Any:
    """The number, or every number of a vector, without its sign."""
    return _magnitude("math.absf", operand)


def absi(operand: Numeric | Value, **_: object) -> Any:
    """The same of integers with a sign."""
    return _magnitude("math.absi", operand)


def _magnitude(operation: str, operand: Numeric | Value) -> Any:
    if isinstance(operand, Numeric):
        return abs(operand)
    found = raw(operand)
    return Value(tracing().value(operation, (found,), type_text(found.type)))
