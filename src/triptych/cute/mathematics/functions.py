"""The elementary functions of `cute.math`: powers, exponentials, logarithms, circles and hyperbolas."""

from __future__ import annotations

import math
from typing import Any

from triptych.cute.mathematics.emission import MathOperand, RoundingMode, X, apply, apply_to


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
