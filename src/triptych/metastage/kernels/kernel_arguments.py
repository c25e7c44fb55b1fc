"""Arguments of a kernel: host values go in as the MLIR values they are made of and are rebuilt in the kernel.

What has no run-time part (a layout, a function, None) is the same Python object on both sides. So are Python ints in
tuples and lists, which are shapes, tiles and coordinates; a Python number by itself becomes a run-time number, unless
its parameter is annotated as one of these.
"""

from __future__ import annotations

from typing import Any

from triptych.metastage.control_flow.join_plans import Aggregate, Plan, Static, carry
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.aggregates import Parts, is_dynamic_expression, list_parts, take_apart
from triptych.metastage.values.binding_time import STATIC_INTEGERS
from triptych.metastage.values.promotion import PYTHON_NUMBERS
from triptych.metastage.values.scalars import NUMERIC_CLASSES


def kernel_argument(value: object, declared: object, trace: Trace) -> tuple[list[Any], Plan]:
    """As `flatten`, for a parameter with an annotation."""
    return ([], Static(value)) if declared is STATIC_INTEGERS and type(value) is int else flatten(value, trace)


def flatten(value: object, trace: Trace) -> tuple[list[Any], Plan]:
    """The MLIR values that a host value is made of, and the plan that makes the same of what the kernel receives."""
    parts = None if is_dynamic_expression(value) else _list_parts(value) or take_apart(value)
    if parts is None:
        if type(value) in PYTHON_NUMBERS:
            value = NUMERIC_CLASSES[PYTHON_NUMBERS[type(value)]].fitting(value)
        plan = carry(value)
        return plan.lower(value, trace), plan
    extents = type(value) in (tuple, list)
    flattened = [([], Static(part)) if extents and type(part) is int else flatten(part, trace) for part in parts.values]
    plans = tuple(plan for _, plan in flattened)
    return [value for values, _ in flattened for value in values], Aggregate(parts, plans)


def _list_parts(value: object) -> Parts | None:
    """A list may be an argument of a kernel: it is as fixed as a tuple for a launch."""
    return list_parts(value) if type(value) is list else None
