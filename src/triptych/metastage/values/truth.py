"""Truth of a value: a Python bool when it is known now, a Boolean when only the run knows."""

from __future__ import annotations

from typing import Any, TypeGuard

from triptych.metastage.trace.errors import StaticRequiredError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.describing import describe
from triptych.metastage.values.scalars import Boolean, Numeric, as_number


def is_dynamic(value: object) -> TypeGuard[Numeric]:
    """Whether `value` is known only at run time."""
    return isinstance(value, Numeric) and value.is_dynamic


def condition(value: object) -> bool | Boolean:
    """What a test decides by: Python's own truth, or a run-time Boolean."""
    value = as_number(value)
    if is_dynamic(value):
        return value.to(Boolean)
    return bool(value)


def truth(value: object) -> Boolean:
    """The truth of a value as a run-time Boolean."""
    known = condition(value)
    return known if isinstance(known, Boolean) else Boolean(known)


def require_static(value: object, use: str, instead: str) -> Any:
    """`value`, which must be known while tracing."""
    if is_dynamic(value):
        raise StaticRequiredError(
            f"{use} needs a value that is known while the function is traced",
            span=place(),
            found=f"a run-time {describe(value)}",
            expected="a Python value or a Constexpr argument",
            instead=instead,
        )
    return value
