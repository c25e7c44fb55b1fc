"""Builder calls of functions of floats: `cutlass._mlir.dialects.math`."""

from __future__ import annotations

from typing import Any

from triptych.cute import math
from triptych.metastage.values.scalars import Numeric

__all__ = ["absf", "log"]


def __dir__() -> list[str]:
    return __all__


def log(operand: Numeric, *, fastmath: object = None, **_: object) -> Any:
    """The natural logarithm."""
    return math.log(operand)


def absf(operand: Numeric, *, fastmath: object = None, **_: object) -> Any:
    """The number without its sign."""
    return abs(operand)
