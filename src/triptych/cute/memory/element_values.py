"""Meta-stage, numbers on their way into memory: as the element type, or refused when they would not stay the same."""

from __future__ import annotations

from triptych.cute.tracing.cute_errors import ElementTypeError
from triptych.ir.handles import Value
from triptych.metastage.values.declared_types import declared_number
from triptych.metastage.values.scalars import Numeric


def element_value(value: object, dtype: type[Numeric], what: object) -> Value:
    """A number as an MLIR value of the element type."""
    return declared_number(value, dtype, what, ElementTypeError).ir_value()
