"""`cute.math` on several operands: arithmetic with options, extremes, fused products and powers."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

from triptych.cute.mathematics.emission import MathOperand, RoundingMode, apply, check_rounding, flushed, is_traced
from triptych.cute.mathematics.functions import absf, copysign
from triptych.cute.tensors.reduction import Extreme, extreme
from triptych.cute.tensors.value import Elementwise, repeated_product, typed
from triptych.cute.tensors.value_functions import where
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.coercion import common_type
from triptych.metastage.values.numeric import operator_type
from triptych.metastage.values.operators import Operators
from triptych.metastage.values.scalars import Int32


# arithmetic with options ------------------------------------------------------------------------------------------
def add(
    x: MathOperand, y: MathOperand, fastmath: bool = False, rounding: RoundingMode | None = None, ftz: bool = False
) -> Any:
    """`x + y`; the options are for floats."""
    return _arithmetic("arith.addf", operator.add, x, y, fastmath, rounding, ftz)


def sub(x: MathOperand, y: MathOperand, fastmath: bool = False) -> Any:
    """`x - y`; the option is for floats."""
    return _arithmetic("arith.subf", operator.sub, x, y, fastmath, None, False)


def mul(
    x: MathOperand, y: MathOperand, fastmath: bool = False, rounding: RoundingMode | None = None, ftz: bool = False
) -> Any:
    """`x * y`; the options are for floats."""
    return _arithmetic("arith.mulf", operator.mul, x, y, fastmath, rounding, ftz)


def div(
    x: MathOperand,
    y: MathOperand,
    fastmath: bool = False,
    approx: bool = False,
    ftz: bool = False,
    full: bool = False,
    rounding: RoundingMode | None = None,
) -> Any:
    """True division; `full`, as `approx`, allows an approximation (over the full range of divisors)."""
    return apply("arith.divf", operator.truediv, x, y, fast=fastmath or approx or full, ftz=ftz, rounding=rounding)


def rem(x: MathOperand, y: MathOperand, fastmath: bool = False) -> Any:
    """The remainder of a division rounded toward zero, as C has it: it has the sign of `x` (that of `%` has `y`'s)."""
    return apply("arith.remf", math.fmod, x, y, fast=fastmath)


def rcp(
    x: MathOperand,
    fastmath: bool = False,
    approx: bool = False,
    rounding: RoundingMode | None = None,
    ftz: bool = False,
) -> Any:
    """One over `x`."""
    return apply("arith.divf", operator.truediv, 1.0, x, fast=fastmath or approx, ftz=ftz, rounding=rounding)


def fma(
    a: MathOperand,
    b: MathOperand,
    c: MathOperand,
    fastmath: bool = False,
    rounding: RoundingMode | None = None,
    ftz: bool = False,
) -> Any:
    """`a * b + c` with one rounding."""
    return apply("math.fma", _fused, a, b, c, fast=fastmath, ftz=ftz, rounding=rounding)


def _fused(a: float, b: float, c: float) -> float:
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    return float(Fraction(a) * Fraction(b) + Fraction(c)) or a * b + c


def _arithmetic(
    operation: str,
    python: Callable[[Any, Any], Any],
    x: object,
    y: object,
    fast: bool,
    rounding: RoundingMode | None,
    ftz: bool,
) -> Any:
    """An operator with options for floats; integers have none and just use the operator."""
    if is_traced(x, y) and operator_type("+", typed(x), typed(y)).kind != "float":
        check_rounding(rounding)
        return python(x, y)
    return apply(operation, python, x, y, fast=fast, ftz=ftz, rounding=rounding)


# extremes ---------------------------------------------------------------------------------------------------------
def min(x: MathOperand, y: MathOperand, propagate_nan: bool = False, ftz: bool = False) -> Any:
    """The smaller one; of a number and a NaN the number, or NaN if that propagates."""
    return _extreme("min", x, y, propagate_nan, ftz)


def max(x: MathOperand, y: MathOperand, propagate_nan: bool = False, ftz: bool = False) -> Any:
    """The larger one; of a number and a NaN the number, or NaN if that propagates."""
    return _extreme("max", x, y, propagate_nan, ftz)


def clamp(
    x: MathOperand,
    lo: MathOperand,
    hi: MathOperand,
    fastmath: bool = False,
    propagate_nan: bool = False,
    ftz: bool = False,
) -> Any:
    """`x`, or the bound that it is beyond."""
    return max(lo, min(x, hi, propagate_nan, ftz), propagate_nan, ftz)


def min_of(first: MathOperand, *others: MathOperand) -> Any:
    """The smallest of numbers or, element by element, of tensors."""
    return reduce(min, others, first)


def max_of(first: MathOperand, *others: MathOperand) -> Any:
    """The largest of numbers or, element by element, of tensors."""
    return reduce(max, others, first)


# Any: Python numbers where nothing is traced; so in `fpowi` and `ipowi`.
def _extreme(which: Extreme, x: Any, y: Any, propagate_nan: bool, ftz: bool) -> Any:
    if not is_traced(x, y):
        return _python_extreme(which, x, y, propagate_nan)
    info, each = common_type(typed(x), typed(y)), Elementwise(x, y)
    ftz = ftz and info.kind == "float"
    left, right = (flushed(each, v, info) if ftz else v for v in (each.lower(x, info), each.lower(y, info)))
    return each.wrap(extreme(each.emitter, which, info, left, right, propagate_nan=propagate_nan), info)


def _python_extreme(which: Extreme, x: float, y: float, propagate_nan: bool) -> float:
    if math.isnan(x) or math.isnan(y):
        return math.nan if propagate_nan else y if math.isnan(x) else x
    return builtins.min(x, y) if which == "min" else builtins.max(x, y)


# powers -----------------------------------------------------------------------------------------------------------
def pow(base: MathOperand, exponent: MathOperand, fastmath: bool = False) -> Any:
    """The power of floats."""
    return apply("math.powf", math.pow, base, exponent, fast=fastmath)


def fpowi(base: Any, exponent: Any, fastmath: bool = False) -> Any:
    """The power of a float to an integer; one that the float type does not hold is rounded, but stays odd or even."""
    if not is_traced(base, exponent):
        return math.pow(base, exponent)
    _require_integers("fpowi", exponent)
    size = pow(absf(base), exponent, fastmath)
    return copysign(size, where((exponent & 1) != 0, base, 1.0))


def ipowi(base: Any, exponent: Any) -> Any:
    """The power of integers, modulo the width of the base. With a negative exponent the fraction toward zero."""
    if not is_traced(base, exponent):
        return base**exponent if exponent >= 0 else _inverse_power(base, exponent)
    _require_integers("ipowi", base, exponent)
    base = base if is_traced(base) else Int32.fitting(base)
    if isinstance(exponent, int):
        return repeated_product(base, exponent) if exponent >= 0 else _traced_inverse_power(base, exponent)
    info = typed(exponent).info
    result, square = base * 0 + 1, base
    for bit in range(info.width - (info.kind == "int")):
        result = where((exponent & (1 << bit)) != 0, result * square, result)
        square = square * square
    return result if info.kind == "uint" else where(exponent < 0, _traced_inverse_power(base, exponent), result)


def _inverse_power(base: int, exponent: int) -> int:
    """A whole number is left only of 1 and -1; of 0, which has no inverse, it is 0 too."""
    return 0 if builtins.abs(base) != 1 else base if exponent & 1 else 1


def _traced_inverse_power(base: Operators, exponent: Operators | int) -> Any:
    is_unit = base == 1 if typed(base).info.kind == "uint" else (base == 1) | (base == -1)
    return where(is_unit, where((exponent & 1) != 0, base, base * 0 + 1), base * 0)


def _require_integers(name: str, *operands: object) -> None:
    for operand in operands:
        is_integer = typed(operand).info.is_integer if is_traced(operand) else type(operand) is int
        if not is_integer:
            raise OperandTypeError(
                f"{name} takes an integer here",
                span=place(),
                found=type(typed(operand)).__name__,
                expected="an integer type or a Python int",
                instead="pow(base, exponent), or .to(Int32) first",
            )
