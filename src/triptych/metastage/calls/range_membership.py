"""Run-time numbers in ranges: `n in range(start, stop, step)` without wrap-around, for every integer type.

Between the bounds, how far a number is from the start fits the unsigned integer of the same width, whatever the sign.
"""

from __future__ import annotations

from typing import Any

from triptych.metastage.trace.checks import check
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values import promotion
from triptych.metastage.values.binding_time import Range
from triptych.metastage.values.promotion import TYPES, TypeInfo
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Boolean, Float64, Int32, Int64, Int128, Numeric
from triptych.metastage.values.truth import is_dynamic


def in_range(item: Numeric | int | float, bounds: range | Range, trace: Trace) -> Any:
    """Whether a number is one of a range: a bool where that is known now, else a Boolean."""
    parts = (bounds.start, bounds.stop, bounds.step)
    known = not any(map(is_dynamic, parts))
    if known and not is_dynamic(item):
        return item in range(*parts)
    if isinstance(item, Numeric) and item.info.kind == "float":
        return _float_in_range(item, bounds, trace)
    if isinstance(item, float):
        return int(item) == item and in_range(int(item), bounds, trace) if abs(item) < 2.0**127 else False
    if isinstance(item, Numeric) and item.info.kind == "bool":
        item = item.to(Int32)
    return _in_known(item, range(*parts), trace) if known and is_dynamic(item) else _in_dynamic(item, parts, trace)


def _float_in_range(item: Numeric, bounds: range | Range, trace: Trace) -> Any:
    """A float is one of the integers that it is equal to, if it is whole and they reach that far."""
    parts = (bounds.start, bounds.stop, bounds.step)
    wide = any(not _fits(part, Int64.info) for part in parts)
    exact = item.to(Float64)
    whole = exact.to(Int128 if wide else Int64)
    return (whole == exact) & in_range(whole, bounds, trace)


def _fits(part: Numeric | int, info: TypeInfo) -> bool:
    return all(map(info.holds, part.info.bounds)) if isinstance(part, Numeric) else info.holds(part)


def _in_known(item: Numeric, items: range, trace: Trace) -> Any:
    """Of the range, only what the type of the number holds can be met; between its ends nothing wraps."""
    low, high = item.info.bounds
    ascending = items if items.step > 0 else items[::-1]
    step = ascending.step
    first = ascending.start if ascending.start >= low else low + (ascending.start - low) % step
    met = range(first, min(ascending.stop, high + 1), step)
    if not met:
        return Boolean(False)
    inside = (item >= met[0]) & (item <= met[-1])
    if step == 1 or met[0] == met[-1]:
        return inside
    return inside & (_remainder(trace, item - met[0], step) == 0)


def _in_dynamic(item: Numeric | int, parts: tuple[Any, ...], trace: Trace) -> Any:
    kind = _common_type((item, *parts))
    number, start, stop = (_converted(value, kind) for value in (item, *parts[:2]))
    step = parts[2]
    if not is_dynamic(step):
        distance = number - start if step > 0 else start - number
        inside = _between(number, start, stop, step > 0)
        return inside if abs(step) == 1 else inside & (_remainder(trace, distance, abs(step)) == 0)
    step = _converted(step, kind)
    nonzero = (step != 0).ir_value()
    check(trace, nonzero, "ZeroStepError", "the step of the range is 0", expected="a step above or below 0")
    upward = step > 0
    outcomes = [
        _between(number, start, stop, up) & (_remainder(trace, distance, size) == 0)
        for up, distance, size in ((True, number - start, step), (False, start - number, -step))
    ]
    return (upward & outcomes[0]) | ((upward ^ True) & outcomes[1])


def _between(number: Numeric, start: Numeric, stop: Numeric, upward: bool) -> Any:
    return (number >= start) & (number < stop) if upward else (number <= start) & (number > stop)


def _remainder(trace: Trace, distance: Numeric, step: Numeric | int) -> Any:
    """Of a distance that is right as an unsigned number, whatever its type says; a step of 0 has been refused."""
    unsigned = NUMERIC_CLASSES[f"Uint{max(distance.width, 8)}"]
    divisor = step if isinstance(step, int) else _at_least_one(trace, step.to(unsigned))
    return distance.to(unsigned) % divisor


def _at_least_one(trace: Trace, step: Numeric) -> Any:
    """A step that the check before lets pass, and 1 where the program has failed already."""
    one = type(step)(1)
    value = trace.value("arith.select", ((step != 0).ir_value(), step.ir_value(), one.ir_value()), step.info.mlir)
    return type(step).of(value, trace.region)


def _common_type(values: tuple[Any, ...]) -> type[Numeric]:
    """The smallest type that holds all of them."""
    name: str | None = "Boolean"
    for value in values:
        own = value.info.name if isinstance(value, Numeric) else _smallest(value)
        name = promotion.join(name, own) if name is not None and own is not None else None
    if name is None or TYPES[name].kind == "float":
        raise OperandTypeError(
            "`in` on a range takes integers that one type can hold",
            span=place(),
            found=", ".join(type(value).__name__ for value in values),
            expected="integers of a common type",
            instead="convert them first, for example .to(Int64)",
        )
    return NUMERIC_CLASSES["Int32" if name == "Boolean" else name]


def _smallest(value: int) -> str | None:
    kinds = (name for name in ("Int32", "Int64", "Int128", "Uint128") if TYPES[name].holds(value))
    return next(kinds, None)


def _converted(value: Numeric | int, kind: type[Numeric]) -> Numeric:
    return value.to(kind) if isinstance(value, Numeric) else kind(value)
