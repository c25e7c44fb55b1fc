"""Coercion of numbers: to the common type of several, as `min` and `max` take it, or to a declared type, refused where
the number would not stay the same.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from triptych.metastage.trace.errors import DeclaredTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values import promotion
from triptych.metastage.values.aggregates import describe
from triptych.metastage.values.numeric import materialize, operator_type, trace_of
from triptych.metastage.values.promotion import PYTHON_NUMBERS, TypeInfo
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Boolean, Numeric, as_number
from triptych.support.errors import TriptychError
from triptych.support.wording import with_article

Error = type[TriptychError]


def declared_number(value: object, dtype: type[Numeric], what: object, error: Error = DeclaredTypeError) -> Numeric:
    """A number as a run-time number of the type; `what` names where it goes, `error` is how it is refused."""
    number = as_number(value)
    if isinstance(number, Numeric):
        require_kept(type(number), dtype, what, error)
    elif not isinstance(number, bool | int | float):
        raise error(
            f"{with_article(type(value).__name__)} is no {dtype.__name__}",
            span=place(),
            found=f"{describe(value)} for {what}",
            expected=f"a number that becomes {dtype.__name__}",
        )
    trace = trace_of(number)
    return dtype.of(materialize(number, dtype.info, trace), trace.region)


def require_kept(source: type[Numeric], dtype: type[Numeric], what: object, error: Error = DeclaredTypeError) -> None:
    """Refuse a conversion that could change the value."""
    if is_kept(source, dtype):
        return
    raise error(
        f"{source.__name__} does not become {dtype.__name__} by itself",
        span=place(),
        found=f"{source.__name__} for {what}",
        expected=dtype.__name__,
        instead=f"value.to({dtype.__name__})",
    )


def is_kept(source: type[Numeric], dtype: type[Numeric]) -> bool:
    """Whether every number of a type is one of another, but for the precision of floats."""
    if source is dtype or dtype.info.name in promotion.wider(source.info.name):
        return True
    return dtype.info.kind == "float" and source.info.kind != "bool"


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
