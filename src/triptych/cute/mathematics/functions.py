"""Elementary functions of `cute.math`: powers, exponentials, logarithms, circles, hyperbolas, rounding, signs."""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable
from typing import Any

from triptych.cute.mathematics.emission import (
    BOOLEAN,
    SMALLEST_NORMAL,
    MathOperand,
    RoundingMode,
    X,
    apply,
    apply_to,
    float_type,
    is_traced,
)
from triptych.cute.tensors.value import Elementwise, typed
from triptych.ir.handles import Value
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.arithmetic import comparison
from triptych.metastage.values.conversion import constant
from triptych.metastage.values.promotion import TypeInfo


# roots ----------------------------------------------------------------------------------------------------------
def sqrt(
    x: X,
    fastmath: bool = False,
    approx: bool = False,
    ftz: bool = False,
    rounding: RoundingMode | None = None,
) -> X:
    """Square root, correctly rounded."""
    return apply_to("math.sqrt", math.sqrt, x, fast=fastmath or approx, ftz=ftz, rounding=rounding)


def rsqrt(x: X, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> X:
    """One over the square root."""
    return apply_to("math.rsqrt", lambda number: 1.0 / math.sqrt(number), x, fast=fastmath or approx, ftz=ftz)


def cbrt(x: X, fastmath: bool = False) -> X:
    """Cube root, also of negative numbers."""
    return apply_to("math.cbrt", math.cbrt, x, fast=fastmath)


# exponentials and logarithms --------------------------------------------------------------------------------------
def exp(x: X, fastmath: bool = False) -> X:
    """`e` to the power of `x`."""
    return apply_to("math.exp", math.exp, x, fast=fastmath)


def exp2(x: X, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> X:
    """Two to the power of `x`."""
    return apply_to("math.exp2", math.exp2, x, fast=fastmath or approx, ftz=ftz)


def expm1(x: X, fastmath: bool = False) -> X:
    """`exp(x) - 1` without the loss of digits near zero."""
    return apply_to("math.expm1", math.expm1, x, fast=fastmath)


def log(x: X, fastmath: bool = False) -> X:
    """Natural logarithm."""
    return apply_to("math.log", math.log, x, fast=fastmath)


def log2(x: X, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> X:
    """Logarithm to the base 2."""
    return apply_to("math.log2", math.log2, x, fast=fastmath or approx, ftz=ftz)


def log10(x: X, fastmath: bool = False) -> X:
    """Logarithm to the base 10."""
    return apply_to("math.log10", math.log10, x, fast=fastmath)


def log1p(x: X, fastmath: bool = False) -> X:
    """`log(1 + x)` without the loss of digits near zero."""
    return apply_to("math.log1p", math.log1p, x, fast=fastmath)


# circles ----------------------------------------------------------------------------------------------------------
def sin(x: X, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> X:
    """Sine of an angle in radians."""
    return apply_to("math.sin", math.sin, x, fast=fastmath or approx, ftz=ftz)


def cos(x: X, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> X:
    """Cosine of an angle in radians."""
    return apply_to("math.cos", math.cos, x, fast=fastmath or approx, ftz=ftz)


def sincos(x: X, fastmath: bool = False) -> tuple[X, X]:
    """Sine and cosine."""
    return sin(x, fastmath), cos(x, fastmath)


def tan(x: X, fastmath: bool = False) -> X:
    """Tangent of an angle in radians."""
    return apply_to("math.tan", math.tan, x, fast=fastmath)


def asin(x: X, fastmath: bool = False) -> X:
    """The angle in radians, from -pi/2 to pi/2, whose sine is `x`."""
    return apply_to("math.asin", math.asin, x, fast=fastmath)


def acos(x: X, fastmath: bool = False) -> X:
    """The angle in radians, from 0 to pi, whose cosine is `x`."""
    return apply_to("math.acos", math.acos, x, fast=fastmath)


def atan(x: X, fastmath: bool = False) -> X:
    """The angle in radians, from -pi/2 to pi/2, whose tangent is `x`."""
    return apply_to("math.atan", math.atan, x, fast=fastmath)


def atan2(y: MathOperand, x: MathOperand, fastmath: bool = False) -> Any:
    """The angle of the point (x, y), from -pi to pi."""
    return apply("math.atan2", math.atan2, y, x, fast=fastmath)


# hyperbolas -------------------------------------------------------------------------------------------------------
def sinh(x: X, fastmath: bool = False) -> X:
    """Hyperbolic sine."""
    return apply_to("math.sinh", math.sinh, x, fast=fastmath)


def cosh(x: X, fastmath: bool = False) -> X:
    """Hyperbolic cosine."""
    return apply_to("math.cosh", math.cosh, x, fast=fastmath)


def tanh(x: X, fastmath: bool = False, approx: bool = False) -> X:
    """Hyperbolic tangent."""
    return apply_to("math.tanh", math.tanh, x, fast=fastmath or approx)


def asinh(x: X, fastmath: bool = False) -> X:
    """The number whose hyperbolic sine is `x`."""
    return apply_to("math.asinh", math.asinh, x, fast=fastmath)


def acosh(x: X, fastmath: bool = False) -> X:
    """The number from 0 on whose hyperbolic cosine is `x`."""
    return apply_to("math.acosh", math.acosh, x, fast=fastmath)


def atanh(x: X, fastmath: bool = False) -> X:
    """The number whose hyperbolic tangent is `x`."""
    return apply_to("math.atanh", math.atanh, x, fast=fastmath)


# the bell curve ---------------------------------------------------------------------------------------------------
def erf(x: X, fastmath: bool = False) -> X:
    """The error function."""
    return apply_to("math.erf", math.erf, x, fast=fastmath)


def erfc(x: X, fastmath: bool = False) -> X:
    """`1 - erf(x)` without the loss of digits where erf is near one."""
    return apply_to("math.erfc", math.erfc, x, fast=fastmath)


# whole numbers ----------------------------------------------------------------------------------------------------
def floor(x: X, fastmath: bool = False) -> X:
    """The next whole number downwards, as a float."""
    return apply_to("math.floor", lambda number: float(math.floor(number)), x, fast=fastmath)


def ceil(x: X, fastmath: bool = False) -> X:
    """The next whole number upwards, as a float."""
    return apply_to("math.ceil", lambda number: float(math.ceil(number)), x, fast=fastmath)


def trunc(x: X, fastmath: bool = False) -> X:
    """The whole number toward zero, as a float."""
    return apply_to("math.trunc", lambda number: float(math.trunc(number)), x, fast=fastmath)


def round(x: X, fastmath: bool = False) -> X:
    """The nearest whole number, of two the one away from zero (Python's `round` takes the even one)."""
    return apply_to("math.round", _round_half_away, x, fast=fastmath)


def roundeven(x: X, fastmath: bool = False) -> X:
    """The nearest whole number, of two the even one."""
    return apply_to("math.roundeven", lambda number: float(builtins.round(number)), x, fast=fastmath)


def _round_half_away(number: float) -> float:
    whole = math.trunc(number)
    return float(whole + (math.copysign(1, number) if builtins.abs(number - whole) >= 0.5 else 0))


# signs ------------------------------------------------------------------------------------------------------------
def abs(x: X, fastmath: bool = False, ftz: bool = False) -> X:
    """Without its sign; integers stay integers."""
    if not is_traced(x) or typed(x).info.kind != "float":
        size: X = builtins.abs(x)
        return size
    return absf(x, fastmath, ftz)


def absf(x: X, fastmath: bool = False, ftz: bool = False) -> X:
    """A float without its sign."""
    return apply_to("math.absf", math.fabs, x, fast=fastmath, ftz=ftz)


def absi(x: MathOperand) -> Any:
    """An integer without its sign; the smallest one, which has no opposite, stays."""
    is_float = typed(x).info.kind == "float" if is_traced(x) else isinstance(x, float)
    if not is_float:
        return builtins.abs(x)
    raise OperandTypeError(
        "absi is of integers", span=place(), found=type(typed(x)).__name__, expected="an integer", instead="absf"
    )


def neg(x: X, fastmath: bool = False) -> X:
    """With the opposite sign."""
    return apply_to("arith.negf", lambda number: -number, x, fast=fastmath)


def copysign(mag: MathOperand, sign: MathOperand, fastmath: bool = False) -> Any:
    """The first without its sign, with the sign of the second."""
    return apply("math.copysign", math.copysign, mag, sign, fast=fastmath)


# kinds of numbers -------------------------------------------------------------------------------------------------
def isnan(x: MathOperand, fastmath: bool = False) -> Any:
    """Whether it is not a number."""
    return _test("isnan", math.isnan, x, lambda emitter, info, value: comparison(emitter, "!=", info, value, value))


def isinf(x: MathOperand, fastmath: bool = False) -> Any:
    """Whether it is an infinity of either sign."""
    return _test("isinf", math.isinf, x, lambda emitter, info, value: _size_is(emitter, info, value, "==", math.inf))


def isfinite(x: MathOperand, fastmath: bool = False) -> Any:
    """Whether it is neither infinite nor NaN."""
    return _test(
        "isfinite", math.isfinite, x, lambda emitter, info, value: _size_is(emitter, info, value, "<", math.inf)
    )


def isnormal(x: MathOperand, fastmath: bool = False) -> Any:
    """Whether it has all its digits: neither zero, subnormal, infinite nor NaN."""
    return _test("isnormal", _is_normal, x, _normal)


def _is_normal(number: float) -> bool:
    return sys.float_info.min <= builtins.abs(number) < math.inf


def _normal(emitter: Trace, info: TypeInfo, value: Value) -> Value:
    large = _size_is(emitter, info, value, ">=", SMALLEST_NORMAL[info.name])
    return emitter.value("arith.andi", (large, _size_is(emitter, info, value, "<", math.inf)), BOOLEAN.mlir)


def _size_is(emitter: Trace, info: TypeInfo, value: Value, op: str, bound: float) -> Value:
    size = emitter.value("math.absf", (value,), info.mlir)
    return comparison(emitter, op, info, size, constant(emitter, bound, info))


def _test(name: str, python: Callable[[Any], bool], x: MathOperand, emit: Callable[[Trace, TypeInfo, Any], Any]) -> Any:
    """A question about each float; comparisons answer it, because MLIR lowers only some of its own tests."""
    if not is_traced(x):
        return python(x)
    info, each = float_type(f"math.{name}", x), Elementwise(x)
    return each.wrap(emit(each.emitter, info, each.lower(x, info)), BOOLEAN)
