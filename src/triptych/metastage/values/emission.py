"""Emission of an operation of a language's own: numbers in, a number out, at the user's line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from triptych.metastage.trace.errors import LeakedValueError
from triptych.metastage.trace.trace import active, place
from triptych.metastage.values.scalars import Numeric, materialize

N = TypeVar("N", bound=Numeric)


def emit(name: str, operands: Sequence[Any], result: type[N], marks: Sequence[str] = ()) -> N:
    """One operation with one result. Operands are numbers; a Python number takes the type of the result.

    Marks are unit attributes: what is known here and may be of use below.
    """
    trace = active()
    if trace is None:
        raise LeakedValueError(f"{name} is emitted where nothing is traced", span=place())
    values = [v.ir_value() if isinstance(v, Numeric) else materialize(v, result.info, trace) for v in operands]
    attributes = {mark: trace.builder.attribute("unit") for mark in marks}
    return result.of(trace.value(name, values, result.info.mlir, attributes), trace.region)
