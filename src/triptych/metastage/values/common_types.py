"""Common type of several numbers: of `min`, `max` and every function that takes numbers of two types."""

from __future__ import annotations

from functools import reduce
from typing import Any

from triptych.metastage.values.numeric import operator_type
from triptych.metastage.values.promotion import PYTHON_NUMBERS, TypeInfo
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Boolean, Numeric


def common_type(*values: Any) -> TypeInfo:
    """The type of the sum of the numbers, whatever their order; only where all are Booleans, Boolean.

    A Python number adapts to the numbers beside it; among themselves Python numbers are what they are at run time.
    """
    numbers = [value for value in values if isinstance(value, Numeric) and not isinstance(value, Boolean)]
    constants = [value for value in values if not isinstance(value, Numeric | bool)]
    if not numbers and len(constants) < len(values):  # a truth value adds nothing to the type beside it
        numbers = [_like(Boolean.info.name)]
    elif not numbers:
        numbers, constants = [_like(PYTHON_NUMBERS[type(constants[0])])], constants[1:]
    # A float decides beside integers, also beside two that no integer type holds.
    numbers.sort(key=lambda number: number.info.kind != "float")
    return reduce(_sum, (*numbers[1:], *constants), numbers[0].info)


def _sum(info: TypeInfo, value: Any) -> TypeInfo:
    return operator_type("+", _like(info.name), value)


def _like(name: str) -> Numeric:
    return NUMERIC_CLASSES[name].constant(0)
