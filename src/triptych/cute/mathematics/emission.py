"""Emission of a mathematical function: Python numbers are computed by Python, run-time ones become an operation.

Input: numbers and tensors. Output: the same kind in a float type: floats keep theirs, integers get the one that true
division gives them. `fast` allows approximations and never assumes that NaN or infinity are absent; `ftz` treats
subnormal operands and results as zeros, on every target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from triptych.cute.tensors.value import Elementwise, TensorSSA, typed
from triptych.cute.tracing.errors import RoundingModeError
from triptych.ir.handles import Value
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.arithmetic import comparison
from triptych.metastage.values.coercion import common_type
from triptych.metastage.values.conversion import constant
from triptych.metastage.values.numeric import operator_type
from triptych.metastage.values.promotion import TYPES, TypeInfo
from triptych.metastage.values.scalars import NUMERIC_CLASSES, BFloat16, Float16, Float32, Float64, Numeric

MathOperand: TypeAlias = "Numeric | TensorSSA | float | int | bool"
X = TypeVar("X", TensorSSA, Float16, BFloat16, Float32, Float64, float, Numeric)
"""What a function of one operand takes and gives: floats keep their type, of integers only the kind is certain."""

BOOLEAN = TYPES["Boolean"]
FAST = "#arith.fastmath<contract,arcp,afn>"
_CONTRACTED = frozenset({"arith.addf", "arith.mulf", "arith.subf"})
"""What follows the setting of the function; who names a rounding wants it."""
SMALLEST_NORMAL = {"Float16": 2.0**-14, "BFloat16": 2.0**-126, "Float32": 2.0**-126, "Float64": 2.0**-1022}
"""Of the types that have mathematics; the others are for storage."""


class RoundingMode(StrEnum):
    """Where results go that lie between two floats."""

    NEAREST_EVEN = "rn"
    ZERO = "rz"
    UP = "rp"
    DOWN = "rm"


def apply(
    operation: str,
    python: Callable[..., Any],
    *operands: object,
    fast: bool = False,
    ftz: bool = False,
    rounding: RoundingMode | None = None,
) -> Any:
    """One operation on floats, element by element."""
    check_rounding(rounding)
    if not is_traced(*operands):
        return python(*operands)
    info, each = float_type(operation, *operands), Elementwise(*operands)
    values = [each.lower(operand, info) for operand in operands]
    attributes: Mapping[str, Any] | None = {"fastmath": each.trace.builder.attribute(FAST)} if fast else None
    if not fast and operation in _CONTRACTED and rounding is None:
        attributes = each.trace.contraction.attributes
    if not ftz:
        return each.wrap(each.emitter.value(operation, values, info.mlir, attributes), info)
    values = [flushed(each, value, info) for value in values]
    return each.wrap(flushed(each, each.emitter.value(operation, values, info.mlir, attributes), info), info)


def apply_to(
    operation: str,
    python: Callable[..., Any],
    x: X,
    *,
    fast: bool = False,
    ftz: bool = False,
    rounding: RoundingMode | None = None,
) -> X:
    """`apply` for one operand, whose type is the result's."""
    result: X = apply(operation, python, x, fast=fast, ftz=ftz, rounding=rounding)
    return result


def is_traced(*operands: object) -> bool:
    """Whether any operand is known only at run time."""
    return any(isinstance(operand, Numeric | TensorSSA) for operand in operands)


def float_type(operation: str, *operands: object) -> TypeInfo:
    """The float type in which operands meet."""
    alike = NUMERIC_CLASSES[common_type(*map(typed, operands)).name].constant(0)
    info = operator_type("/", alike, alike)
    if info.name in SMALLEST_NORMAL:
        return info
    raise OperandTypeError(
        f"{operation.partition('.')[2]} has no form for {info.name}",
        span=place(),
        found=info.name,
        expected=f"one of {', '.join(SMALLEST_NORMAL)}, or integers",
        instead=".to(Float32) first",
    )


def flushed(each: Elementwise, value: Value, info: TypeInfo) -> Value:
    """Subnormals as zeros of their sign."""
    emitter = each.emitter
    size = emitter.value("math.absf", (value,), info.mlir)
    small = comparison(emitter, "<", info, size, constant(emitter, SMALLEST_NORMAL[info.name], info))
    zero = emitter.value("math.copysign", (constant(emitter, 0.0, info), value), info.mlir)
    return emitter.value("arith.select", (small, zero, value), info.mlir)


def check_rounding(rounding: RoundingMode | None) -> None:
    """Refuse a rounding mode that no operation of MLIR has."""
    if rounding is None or RoundingMode(rounding) is RoundingMode.NEAREST_EVEN:
        return
    raise RoundingModeError(
        "results are rounded to the nearest float only",
        span=place(),
        found=f"rounding=RoundingMode.{RoundingMode(rounding).name}",
        expected="RoundingMode.NEAREST_EVEN, or no rounding mode",
    )
