"""Pass `convert-wide-integers`: conversions between 128-bit integers and floats, by operations of 64 bits.

Input: a module whose floats have 32 or 64 bits where 128-bit integers meet them. Output: the same module without such
conversions. LLVM calls functions of a C compiler's runtime library for them; a GPU has none, nor has this process.
"""

from __future__ import annotations

from triptych.ir.expressions import Expression, element_and_lanes, select, vector_type
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import element_type, type_text

_WIDE, _HALF = "i128", "i64"
_HALF_BITS = 64
_CALL, _SATURATING = "llvm.call_intrinsic", ("llvm.fptosi.sat.", "llvm.fptoui.sat.")
_FROM_INTEGERS = ("arith.sitofp", "arith.uitofp")
_FRACTION_BITS = {"f32": 23, "f64": 52}
_BIAS = {"f32": 127, "f64": 1023}

WIDE_CONVERSIONS = frozenset({*_FROM_INTEGERS, _CALL})
"""The operations that may be such conversions."""


def convert_wide_integers(module: Module) -> None:
    """Replace the conversions, in kernels and around them."""
    with module.context:
        replace_each(operations_named(module, *WIDE_CONVERSIONS), _converted)


def _converted(op: Replacement) -> list[Value] | None:
    operation = op.operation
    if operation.name in _FROM_INTEGERS and _element(op.operands[0]) == _WIDE:
        formula = _to_float
    elif _is_saturating(operation) and _element(operation.results[0]) == _WIDE:
        formula = _to_integer
    else:
        return None
    (operand,) = op.operands
    return [formula(Expression(op.builder, operand, *element_and_lanes(operand.type)), operation).value]


def _is_saturating(operation: Operation) -> bool:
    return operation.name == _CALL and str(operation.attributes["intrin"].value).startswith(_SATURATING)


def _element(value: Value) -> str:
    return type_text(element_type(value.type))


def _to_float(given: Expression, operation: Operation) -> Expression:
    """The 64 highest bits that are not leading zeros, rounded by the machine, times a power of two.

    No float has more than 53 bits: of what is below the 64 it matters only whether it is zero, which the last one says.
    """
    target = _element(operation.results[0])
    signed = operation.name == "arith.sitofp"
    size = select(given < 0, -given, given) if signed else given
    zeros = size.applied("ctlz") & 127  # of zero itself: none, and it stays zero
    aligned = size << zeros
    high, low = (half.convert("trunci", _HALF) for half in (aligned >> _HALF_BITS, aligned))
    rounded = (high | select(low.equals(0), 0, low.filled(1))).convert("uitofp", target)
    exponent = _BIAS[target] + _HALF_BITS - zeros.convert("trunci", f"i{rounded.width}")
    found = rounded * (exponent << _FRACTION_BITS[target]).bits_as(target)
    return select(given < 0, -found, found) if signed else found


def _to_integer(given: Expression, operation: Operation) -> Expression:
    """Two halves: how often 2**64 goes into a number, and the rest, which a float holds exactly."""
    signed = "fptosi" in operation.attributes["intrin"].value
    value = given.convert("extf", "f64")
    size = abs(value)
    high = _saturated(size * 2.0**-_HALF_BITS)
    low = _saturated(size - high.convert("uitofp", "f64") * 2.0**_HALF_BITS)
    found = (high.convert("extui", _WIDE) << _HALF_BITS) | low.convert("extui", _WIDE)
    if not signed:
        return select(value < 0.0, 0, select(size >= 2.0**128, -1, found))
    least, most = -(1 << 127), (1 << 127) - 1
    too_large = size >= 2.0**127
    return select(value < 0.0, select(too_large, least, -found), select(too_large, most, found))


def _saturated(value: Expression) -> Expression:
    """The whole part of a number, at most 2**64 - 1. It is 0 for NaN."""
    builder = value.builder
    suffix = "" if value.lanes is None else f"v{value.lanes}"
    name = f"llvm.fptoui.sat.{suffix}{_HALF}.{suffix}{value.element}"
    made = builder.intrinsic(name, (value.value,), [vector_type(_HALF, value.lanes)]).result
    return Expression(builder, made, _HALF, value.lanes)
