"""Meta-stage, the elementary functions of `cute.math`: powers, exponentials, logarithms, circles and hyperbolas."""

from __future__ import annotations

import math
from typing import Any

from triptych.cute.math_emission import MathOperand, RoundingMode, apply


# roots ----------------------------------------------------------------------------------------------------------
def sqrt(
    x: MathOperand,
    fastmath: bool = False,
    approx: bool = False,
    ftz: bool = False,
    rounding: RoundingMode | None = None,
) -> Any:
    """Square root, correctly rounded."""
    return apply("math.sqrt", math.sqrt, x, fast=fastmath or approx, ftz=ftz, rounding=rounding)


def rsqrt(x: MathOperand, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> Any:
    """One over the square root."""
    return apply("math.rsqrt", lambda number: 1.0 / math.sqrt(number), x, fast=fastmath or approx, ftz=ftz)


def cbrt(x: MathOperand, fastmath: bool = False) -> Any:
    """Cube root, also of negative numbers."""
    return apply("math.cbrt", math.cbrt, x, fast=fastmath)


# exponentials and logarithms --------------------------------------------------------------------------------------
def exp(x: MathOperand, fastmath: bool = False) -> Any:
    return apply("math.exp", math.exp, x, fast=fastmath)


def exp2(x: MathOperand, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> Any:
    """Two to the power of `x`."""
    return apply("math.exp2", math.exp2, x, fast=fastmath or approx, ftz=ftz)


def expm1(x: MathOperand, fastmath: bool = False) -> Any:
    """`exp(x) - 1` without the loss of digits near zero."""
    return apply("math.expm1", math.expm1, x, fast=fastmath)


def log(x: MathOperand, fastmath: bool = False) -> Any:
    """Natural logarithm."""
    return apply("math.log", math.log, x, fast=fastmath)


def log2(x: MathOperand, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> Any:
    return apply("math.log2", math.log2, x, fast=fastmath or approx, ftz=ftz)


def log10(x: MathOperand, fastmath: bool = False) -> Any:
    return apply("math.log10", math.log10, x, fast=fastmath)


def log1p(x: MathOperand, fastmath: bool = False) -> Any:
    """`log(1 + x)` without the loss of digits near zero."""
    return apply("math.log1p", math.log1p, x, fast=fastmath)


# circles ----------------------------------------------------------------------------------------------------------
def sin(x: MathOperand, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> Any:
    """Sine of an angle in radians."""
    return apply("math.sin", math.sin, x, fast=fastmath or approx, ftz=ftz)


def cos(x: MathOperand, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> Any:
    """Cosine of an angle in radians."""
    return apply("math.cos", math.cos, x, fast=fastmath or approx, ftz=ftz)


def sincos(x: MathOperand, fastmath: bool = False) -> tuple[Any, Any]:
    """Sine and cosine."""
    return sin(x, fastmath), cos(x, fastmath)


def tan(x: MathOperand, fastmath: bool = False) -> Any:
    """Tangent of an angle in radians."""
    return apply("math.tan", math.tan, x, fast=fastmath)


def asin(x: MathOperand, fastmath: bool = False) -> Any:
    return apply("math.asin", math.asin, x, fast=fastmath)


def acos(x: MathOperand, fastmath: bool = False) -> Any:
    return apply("math.acos", math.acos, x, fast=fastmath)


def atan(x: MathOperand, fastmath: bool = False) -> Any:
    return apply("math.atan", math.atan, x, fast=fastmath)


def atan2(y: MathOperand, x: MathOperand, fastmath: bool = False) -> Any:
    """The angle of the point (x, y), from -pi to pi."""
    return apply("math.atan2", math.atan2, y, x, fast=fastmath)


# hyperbolas -------------------------------------------------------------------------------------------------------
def sinh(x: MathOperand, fastmath: bool = False) -> Any:
    return apply("math.sinh", math.sinh, x, fast=fastmath)


def cosh(x: MathOperand, fastmath: bool = False) -> Any:
    return apply("math.cosh", math.cosh, x, fast=fastmath)


def tanh(x: MathOperand, fastmath: bool = False, approx: bool = False) -> Any:
    return apply("math.tanh", math.tanh, x, fast=fastmath or approx)


def asinh(x: MathOperand, fastmath: bool = False) -> Any:
    return apply("math.asinh", math.asinh, x, fast=fastmath)


def acosh(x: MathOperand, fastmath: bool = False) -> Any:
    return apply("math.acosh", math.acosh, x, fast=fastmath)


def atanh(x: MathOperand, fastmath: bool = False) -> Any:
    return apply("math.atanh", math.atanh, x, fast=fastmath)


# the bell curve ---------------------------------------------------------------------------------------------------
def erf(x: MathOperand, fastmath: bool = False) -> Any:
    """The error function."""
    return apply("math.erf", math.erf, x, fast=fastmath)


def erfc(x: MathOperand, fastmath: bool = False) -> Any:
    """`1 - erf(x)` without the loss of digits where erf is near one."""
    return apply("math.erfc", math.erfc, x, fast=fastmath)
