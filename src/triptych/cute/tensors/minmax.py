"""Meta-stage, minimum and maximum of two values of one type, as one operation."""

from __future__ import annotations

from typing import Literal

from triptych.ir.handles import Value
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.promotion import TypeInfo

Extreme = Literal["min", "max"]


def extreme(
    emitter: Trace, which: Extreme, info: TypeInfo, left: Value, right: Value, *, propagate_nan: bool = False
) -> Value:
    """The smaller or larger one. Of a NaN and a number it is the number, unless NaNs propagate."""
    return emitter.value(_operation(which, info, propagate_nan), (left, right), info.mlir)


def _operation(which: Extreme, info: TypeInfo, propagate_nan: bool) -> str:
    if info.kind == "float":
        return f"arith.{which}imumf" if propagate_nan else f"arith.{which}numf"
    return f"arith.{which}{'s' if info.kind == 'int' else 'u'}i"
