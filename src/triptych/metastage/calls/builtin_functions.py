"""Builtin functions on run-time values: what `min`, `int`, `any` … mean where Python's own would need to know them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Reversible, Sized
from functools import partial
from types import BuiltinFunctionType
from typing import Any

from triptych.metastage.control_flow.iteration import length
from triptych.metastage.control_flow.object_identity import check_isinstance, involves_dynamic, shown_by
from triptych.metastage.control_flow.object_joins import select_one
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import active, place
from triptych.metastage.values.aggregates import describe
from triptych.metastage.values.binding_time import Range, is_dynamic, require_static, truth
from triptych.metastage.values.coercion import common_type
from triptych.metastage.values.numeric import trace_of
from triptych.metastage.values.operators import ForeignOperand, refuse_foreign
from triptych.metastage.values.promotion import float_for
from triptych.metastage.values.provenance import note_of_python
from triptych.metastage.values.scalars import (
    NUMERIC_CLASSES,
    Boolean,
    Float32,
    Int32,
    Int64,
    Numeric,
    as_number,
    materialize,
)


def answer_to(function: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    """What a builtin means for these arguments, where that is not what Python's own does."""
    if not isinstance(function, BuiltinFunctionType | type):
        return None
    module = getattr(function, "__module__", "")
    if module == "math":
        foreign = any(isinstance(arg, ForeignOperand) or is_dynamic(as_number(arg)) for arg in args)
        return partial(_mathematics, function.__name__) if foreign else None
    answer = BUILTINS.get(function) if module == "builtins" else None
    hinted = function is builtins.range and kwargs
    return answer if answer is not None and (hinted or any(map(_is_asked, args))) else None


def _is_asked(value: object) -> bool:
    """Whether a builtin cannot answer by itself for such an argument."""
    return not value.is_static if isinstance(value, Range) else involves_dynamic(value)


def _mathematics(name: str, *args: object, **_: object) -> Any:
    refuse_foreign(f"math.{name}", name, args)


def _range(*bounds: object, **hints: Any) -> Range:
    return Range(*bounds, **hints)


def _of_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin that gives a Python number where nothing is compiled."""

    def answer(*args: object, **kwargs: object) -> Any:
        return note_of_python(function(*args, **kwargs))

    return answer


def _int(value: object, base: object = None) -> Any:
    """The integer part: integers stay, floats truncate to an integer type of their size."""
    value = as_number(value)
    if base is not None or not isinstance(value, Numeric):
        raise _unfit("int", "a number", value)
    if value.info.is_integer:
        return value
    return value.to(Int64 if value.info.width > 32 else Int32)


def _float(value: object) -> Any:
    value = as_number(value)
    if not isinstance(value, Numeric):
        raise _unfit("float", "a number", value)
    return value if value.info.kind == "float" else value.to(NUMERIC_CLASSES[float_for(value.info.name)])


def _bool(value: object) -> Boolean:
    return truth(value)


def _unfit(function: str, wanted: str, found: object) -> OperandTypeError:
    return OperandTypeError(
        f"{function}() of this run-time value is not compiled",
        span=place(),
        found=describe(found),
        expected=wanted,
        instead=f"{function}() of one of its numbers",
    )


def _extreme(symbol: str) -> Callable[..., Any]:
    def extreme(*args: Any, key: Callable[[Any], Any] | None = None, default: object = None) -> Any:
        values = [as_number(value) for value in (args[0] if len(args) == 1 else args)]
        trace = active()
        assert trace is not None, "run-time numbers exist while tracing only"
        measures = values if key is None else [as_number(trace.hooks.call(key, value)) for value in values]
        best, measure = values[0], measures[0]
        for value, other in zip(values[1:], measures[1:], strict=True):
            better = other < measure if symbol == "min" else other > measure
            best, measure = _select(better, value, best, values), _select(better, other, measure, measures)
        return best

    return extreme


# Any: at least one of the two is a Numeric, the other may be a Python number.
def _select(test: Boolean | bool, then: Any, orelse: Any, among: list[Any]) -> Any:
    """`then if test else orelse` without a branch, for two of several numbers and in the type of all of them."""
    if not is_dynamic(test):
        return then if test else orelse
    if not all(isinstance(value, Numeric | bool | int | float) for value in among):
        return select_one(trace_of(test), test, then, orelse)
    info, trace = common_type(*among), trace_of(test)
    sides = (materialize(then, info, trace), materialize(orelse, info, trace))
    value = trace.value("arith.select", (test.ir_value(), *sides), info.mlir)
    return NUMERIC_CLASSES[info.name].of(value, trace.region)


def _any(values: Iterable[object]) -> Any:
    outcome: Any = Boolean(False)
    for value in values:
        outcome = outcome | truth(value)
    return outcome


def _all(values: Iterable[object]) -> Any:
    outcome: Any = Boolean(True)
    for value in values:
        outcome = outcome & truth(value)
    return outcome


def _round(value: object, digits: int | None = None) -> Any:
    """To the nearest integer, of two equally near ones to the even one, as Python does."""
    value = as_number(value)
    if not isinstance(value, Numeric):
        raise _unfit("round", "a number", value)
    if digits is not None and require_static(digits, "the number of digits of round()", "a Python int") >= 0:
        if value.info.is_integer:
            return +value
    elif digits is None:
        return +value if value.info.is_integer else _int(_nearest_even(value))
    raise OperandTypeError(
        "round() of a run-time value takes no digits",
        span=place(),
        found=f"round({describe(value)}, {digits})",
        expected="round(x), which is an integer",
        instead=f"`round(x * {10.0 ** abs(digits)}) / {10.0 ** abs(digits)}`",
    )


def _nearest_even(value: Numeric) -> Any:
    """In Float32 or Float64, which hold every integer that a narrower float is near to."""
    wide = value if value.info.width >= 32 else value.to(Float32)
    trace = trace_of(wide)
    return type(wide).of(trace.value("math.roundeven", (wide.ir_value(),), wide.info.mlir), trace.region)


def _pow(base: Numeric, exponent: Numeric, modulus: object = None) -> Any:
    if modulus is None:
        return base**exponent
    raise OperandTypeError(
        "pow() of run-time values takes no modulus",
        span=place(),
        found=f"a modulus, {describe(modulus)}",
        expected="pow(base, exponent)",
        instead="`pow(base, exponent) % modulus` where the power fits, or a loop",
    )


def _len(value: Sized) -> Any:
    return length(value) if isinstance(value, Range) else len(value)


def _reversed(value: Range | Reversible[object]) -> Any:
    return value.backward() if isinstance(value, Range) else reversed(value)


BUILTINS: dict[Any, Callable[..., Any]] = {
    builtins.range: _range,
    builtins.int: _of_python(_int),
    builtins.float: _of_python(_float),
    builtins.bool: _of_python(_bool),
    builtins.min: _extreme("min"),
    builtins.max: _extreme("max"),
    builtins.any: _any,
    builtins.all: _all,
    builtins.isinstance: check_isinstance,
    **{function: shown_by(function.__name__) for function in (str, repr, format, ascii)},
    builtins.round: _of_python(_round),
    builtins.pow: _pow,
    builtins.len: _len,
    builtins.reversed: _reversed,
}
