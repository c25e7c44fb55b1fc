"""Meta-stage, choosing by Booleans: element by element, and asking a whole tensor."""

from __future__ import annotations

from typing import Any

from triptych.cute.memory.vectors import all_of, any_of
from triptych.cute.tensors.value import Elementwise, TensorSSA, typed
from triptych.cute.tracing.current_trace import tracing
from triptych.metastage.values.common_types import common_type
from triptych.metastage.values.promotion import TYPES
from triptych.metastage.values.scalars import Boolean

_BOOLEAN = TYPES["Boolean"]


def where(cond: object, x: object, y: object) -> Any:
    """`x` where the condition is true and `y` elsewhere; all three meet in one shape, `x` and `y` in one type."""
    each, info = Elementwise(cond, x, y), common_type(typed(x), typed(y))
    values = each.lower(cond, _BOOLEAN), each.lower(x, info), each.lower(y, info)
    return each.wrap(each.emitter.value("arith.select", values, info.mlir), info)


def any_(x: TensorSSA) -> Boolean:
    """Whether any element is true."""
    trace = tracing()
    return Boolean.of(any_of(trace, x.to(Boolean).ir_value()), trace.region)


def all_(x: TensorSSA) -> Boolean:
    """Whether every element is true."""
    trace = tracing()
    return Boolean.of(all_of(trace, x.to(Boolean).ir_value()), trace.region)
