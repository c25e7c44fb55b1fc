"""Meta-stage, the elementary functions of `cute.math`: powers, exponentials, logarithms, circles and hyperbolas."""

from __future__ import annotations

import math
from typing import Any

from triptych.cute.math_emission import MathOperand, RoundingMode, X, apply


# roots ----------------------------------------------------------------------------------------------------------
def sqrt(
    x: X,
    fastmath: bool = False,
    approx: bool = False,
    ftz: bool = False,
    rounding: RoundingMode | None = None,
) -> X:
    """Square root, correctly rounded."""
    result: X = apply("math.sqrt", math.sqrt, x, fast=fastmath or approx, ftz=ftz, rounding=rounding)
    return result


def rsqrt(x: X, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> X:
    """One over the square root."""
    result: X = apply("math.rsqrt", lambda number: 1.0 / math.sqrt(number), x, fast=fastmath or approx, ftz=ftz)
    return result


def cbrt(x: X, fastmath: bool = False) -> X:
    """Cube root, also of negative numbers."""
    result: X = apply("math.cbrt", math.cbrt, x, fast=fastmath)
    return result


# exponentials and logarithms --------------------------------------------------------------------------------------
def exp(x: X, fastmath: bool = False) -> X:
    """`e` to the power of `x`."""
    result: X = apply("math.exp", math.exp, x, fast=fastmath)
    return result


def exp2(x: X, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> X:
    """Two to the power of `x`."""
    result: X = apply("math.exp2", math.exp2, x, fast=fastmath or approx, ftz=ftz)
    return result


def expm1(x: X, fastmath: bool = False) -> X:
    """`exp(x) - 1` without the loss of digits near zero."""
    result: X = apply("math.expm1", math.expm1, x, fast=fastmath)
    return result


def log(x: X, fastmath: bool = False) -> X:
    """Natural logarithm."""
    result: X = apply("math.log", math.log, x, fast=fastmath)
    return result


def log2(x: X, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> X:
    """Logarithm to the base 2."""
    result: X = apply("math.log2", math.log2, x, fast=fastmath or approx, ftz=ftz)
    return result


def log10(x: X, fastmath: bool = False) -> X:
    """Logarithm to the base 10."""
    result: X = apply("math.log10", math.log10, x, fast=fastmath)
    return result


def log1p(x: X, fastmath: bool = False) -> X:
    """`log(1 + x)` without the loss of digits near zero."""
    result: X = apply("math.log1p", math.log1p, x, fast=fastmath)
    return result


# circles ----------------------------------------------------------------------------------------------------------
def sin(x: X, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> X:
    """Sine of an angle in radians."""
    result: X = apply("math.sin", math.sin, x, fast=fastmath or approx, ftz=ftz)
    return result


def cos(x: X, fastmath: bool = False, approx: bool = False, ftz: bool = False) -> X:
    """Cosine of an angle in radians."""
    result: X = apply("math.cos", math.cos, x, fast=fastmath or approx, ftz=ftz)
    return result


def sincos(x: X, fastmath: bool = False) -> tuple[X, X]:
    """Sine and cosine."""
    return sin(x, fastmath), cos(x, fastmath)


def tan(x: X, fastmath: bool = False) -> X:
    """Tangent of an angle in radians."""
    result: X = apply("math.tan", math.tan, x, fast=fastmath)
    return result


def asin(x: X, fastmath: bool = False) -> X:
    """The angle in radians, from -pi/2 to pi/2, whose sine is `x`."""
    result: X = apply("math.asin", math.asin, x, fast=fastmath)
    return result


def acos(x: X, fastmath: bool = False) -> X:
    """The angle in radians, from 0 to pi, whose cosine is `x`."""
    result: X = apply("math.acos", math.acos, x, fast=fastmath)
    return result


def atan(x: X, fastmath: bool = False) -> X:
    """The angle in radians, from -pi/2 to pi/2, whose tangent is `x`."""
    result: X = apply("math.atan", math.atan, x, fast=fastmath)
    return result


def atan2(y: MathOperand, x: MathOperand, fastmath: bool = False) -> Any:
    """The angle of the point (x, y), from -pi to pi."""
    return apply("math.atan2", math.atan2, y, x, fast=fastmath)


# hyperbolas -------------------------------------------------------------------------------------------------------
def sinh(x: X, fastmath: bool = False) -> X:
    """Hyperbolic sine."""
    result: X = apply("math.sinh", math.sinh, x, fast=fastmath)
    return result


def cosh(x: X, fastmath: bool = False) -> X:
    """Hyperbolic cosine."""
    result: X = apply("math.cosh", math.cosh, x, fast=fastmath)
    return result


def tanh(x: X, fastmath: bool = False, approx: bool = False) -> X:
    """Hyperbolic tangent."""
    result: X = apply("math.tanh", math.tanh, x, fast=fastmath or approx)
    return result


def asinh(x: X, fastmath: bool = False) -> X:
    """The number whose hyperbolic sine is `x`."""
    result: X = apply("math.asinh", math.asinh, x, fast=fastmath)
    return result


def acosh(x: X, fastmath: bool = False) -> X:
    """The number from 0 on whose hyperbolic cosine is `x`."""
    result: X = apply("math.acosh", math.acosh, x, fast=fastmath)
    return result


def atanh(x: X, fastmath: bool = False) -> X:
    """The number whose hyperbolic tangent is `x`."""
    result: X = apply("math.atanh", math.atanh, x, fast=fastmath)
    return result


# the bell curve ---------------------------------------------------------------------------------------------------
def erf(x: X, fastmath: bool = False) -> X:
    """The error function."""
    result: X = apply("math.erf", math.erf, x, fast=fastmath)
    return result


def erfc(x: X, fastmath: bool = False) -> X:
    """`1 - erf(x)` without the loss of digits where erf is near one."""
    result: X = apply("math.erfc", math.erfc, x, fast=fastmath)
    return result
