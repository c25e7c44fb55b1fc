"""Builder calls of arithmetic, for programs that name the operation themselves: `cutlass._mlir.dialects.arith`.

Operands are numbers, or vectors of numbers, of one type. MLIR's integers have no sign: the operation says it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.compat.mlir_builders.values import raw, wrapped
from triptych.cute.memory.vectors import splat
from triptych.cute.tracing.device import tracing
from triptych.ir.handles import Type
from triptych.ir.types import count_and_element, is_float, is_integer, type_text
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place

__all__ = [
    "addf",
    "addi",
    "andi",
    "bitcast",
    "constant",
    "divf",
    "divsi",
    "divui",
    "extf",
    "extsi",
    "extui",
    "fptosi",
    "fptoui",
    "maximumf",
    "maxnumf",
    "maxsi",
    "maxui",
    "minimumf",
    "minnumf",
    "minsi",
    "minui",
    "mulf",
    "muli",
    "negf",
    "ori",
    "remf",
    "remsi",
    "remui",
    "select",
    "shli",
    "shrsi",
    "shrui",
    "sitofp",
    "subf",
    "subi",
    "truncf",
    "trunci",
    "uitofp",
    "xori",
]


def __dir__() -> list[str]:
    return __all__


def _binary(name: str) -> Callable[..., Any]:
    def emit(lhs: object, rhs: object, *, loc: object = None, ip: object = None) -> Any:
        left, right = raw(lhs), raw(rhs)
        if left.type != right.type:
            raise OperandTypeError(
                f"arith.{name} takes two values of one type",
                span=place(),
                found=f"{type_text(left.type)} and {type_text(right.type)}",
                expected="the same type twice",
            )
        return wrapped(tracing().value(f"arith.{name}", (left, right), type_text(left.type)))

    return _named(emit, name, f"`arith.{name}` of two numbers or vectors.")


def _cast(name: str) -> Callable[..., Any]:
    def emit(out: Type, in_: object, *, loc: object = None, ip: object = None) -> Any:
        value = raw(in_)
        return wrapped(value if value.type == out else tracing().value(f"arith.{name}", (value,), type_text(out)))

    return _named(emit, name, f"`arith.{name}` of a number or a vector to a type.")


def _named(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


addf = _binary("addf")
addi = _binary("addi")
andi = _binary("andi")
divf = _binary("divf")
divsi = _binary("divsi")
divui = _binary("divui")
maximumf = _binary("maximumf")
maxnumf = _binary("maxnumf")
maxsi = _binary("maxsi")
maxui = _binary("maxui")
minimumf = _binary("minimumf")
minnumf = _binary("minnumf")
minsi = _binary("minsi")
minui = _binary("minui")
mulf = _binary("mulf")
muli = _binary("muli")
ori = _binary("ori")
remf = _binary("remf")
remsi = _binary("remsi")
remui = _binary("remui")
shli = _binary("shli")
shrsi = _binary("shrsi")
shrui = _binary("shrui")
subf = _binary("subf")
subi = _binary("subi")
xori = _binary("xori")

bitcast = _cast("bitcast")
extf = _cast("extf")
extsi = _cast("extsi")
extui = _cast("extui")
fptosi = _cast("fptosi")
fptoui = _cast("fptoui")
sitofp = _cast("sitofp")
trunci = _cast("trunci")
truncf = _cast("truncf")
uitofp = _cast("uitofp")


def negf(operand: object, *, loc: object = None, ip: object = None) -> Any:
    """The float, or every float of a vector, with the other sign."""
    value = raw(operand)
    return wrapped(tracing().value("arith.negf", (value,), type_text(value.type)))


def select(condition: object, true_value: object, false_value: object, *, loc: object = None, ip: object = None) -> Any:
    """One of two values, by a truth value."""
    values = raw(condition), raw(true_value), raw(false_value)
    return wrapped(tracing().value("arith.select", values, type_text(values[1].type)))


def constant(result: Type, value: float, *, loc: object = None, ip: object = None) -> Any:
    """A number of a type; of a vector's, in every element."""
    vector = count_and_element(result)
    element = result if vector is None else vector[1]
    trace = tracing()
    if is_integer(element) and type(value) in (int, bool):
        attribute = trace.builder.integer(type_text(element), int(value))
    elif is_float(element) and type(value) in (int, float):
        attribute = trace.builder.float(type_text(element), float(value))
    else:
        raise OperandTypeError(
            "a constant is a number of its type",
            span=place(),
            found=f"{value!r} for {type_text(result)}",
            expected="a Python int for an integer, a float for a float",
        )
    number = trace.value("arith.constant", (), type_text(element), {"value": attribute})
    return wrapped(number if vector is None else splat(trace, number, vector[0], type_text(element)))
