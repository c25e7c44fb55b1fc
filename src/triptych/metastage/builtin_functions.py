"""Builtin functions on run-time values: what `min`, `int`, `any` … mean where Python's own would need to know them."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from triptych.metastage.binding_time import Range
from triptych.metastage.errors import OperandTypeError
from triptych.metastage.identity import check_isinstance, shown_by
from triptych.metastage.plans import describe
from triptych.metastage.promotion import float_for
from triptych.metastage.scalars import NUMERIC_CLASSES, Boolean, Int32, Int64, Numeric, as_number
from triptych.metastage.tracing import place
from triptych.metastage.truth import is_dynamic, truth


def _range(*bounds: Any, **hints: Any) -> Range:
    return Range(*bounds, **hints)


def _int(value: Any) -> Any:
    """The integer part: integers stay, floats truncate to an integer type of their size."""
    value = as_number(value)
    if value.info.is_integer:
        return value
    return value.to(Int64 if value.info.width > 32 else Int32)


def _float(value: Any) -> Any:
    value = as_number(value)
    return value if value.info.kind == "float" else value.to(NUMERIC_CLASSES[float_for(value.info.name)])


def _bool(value: Any) -> Boolean:
    return truth(value)


def _extreme(symbol: str) -> Callable[..., Any]:
    def extreme(*args: Any, **options: Any) -> Any:
        if options:
            raise OperandTypeError(
                f"{symbol}() of run-time values takes no {', '.join(options)}", span=place(), expected="plain values"
            )
        values = [as_number(value) for value in (args[0] if len(args) == 1 else args)]
        best = values[0]
        for value in values[1:]:
            better = value < best if symbol == "min" else value > best
            best = _select(better, value, best)
        return best

    return extreme


def _select(test: Any, then: Any, orelse: Any) -> Any:
    """`then if test else orelse` for two numbers without a branch."""
    if not is_dynamic(test):
        return then if test else orelse
    left, right = (v if isinstance(v, Numeric) else type(orelse if v is then else then)(v) for v in (then, orelse))
    if type(left) is not type(right):
        raise OperandTypeError(
            "min() and max() of run-time values need one type",
            span=place(),
            found=f"{describe(then)} and {describe(orelse)}",
            expected="values of one type",
            instead="convert them first with .to(...)",
        )
    trace = test._region.trace
    value = trace.value("arith.select", (test.ir_value(), left.ir_value(), right.ir_value()), left.info.mlir)
    return type(left).of(value, trace.region)


def _any(values: Any) -> Any:
    outcome: Any = Boolean(False)
    for value in values:
        outcome = outcome | truth(value)
    return outcome


def _all(values: Any) -> Any:
    outcome: Any = Boolean(True)
    for value in values:
        outcome = outcome & truth(value)
    return outcome


BUILTINS: dict[Any, Callable[..., Any]] = {
    builtins.range: _range,
    builtins.int: _int,
    builtins.float: _float,
    builtins.bool: _bool,
    builtins.min: _extreme("min"),
    builtins.max: _extreme("max"),
    builtins.any: _any,
    builtins.all: _all,
    builtins.isinstance: check_isinstance,
    **{function: shown_by(function.__name__) for function in (str, repr, format, ascii)},
}
