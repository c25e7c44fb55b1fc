"""Binary floats taken apart and put together by integer arithmetic on their bits.

Input and output: expressions of `f32` or `f64`. Conversion instructions would leave lanes that hold NaN undefined;
adding, shifting and reinterpreting bits is defined for every pattern.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir.expressions import Expression, Operand, select
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """A binary interchange format: where its exponent is."""

    fraction_bits: int
    bias: int

    @property
    def rounder(self) -> float:
        """Adding it leaves no room for a fraction, so that the nearest integer ends up in the low bits."""
        return 1.5 * 2.0**self.fraction_bits

    @property
    def rounder_bits(self) -> int:
        return (self.bias + self.fraction_bits) << self.fraction_bits | 1 << (self.fraction_bits - 1)

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


FORMATS = {"f32": Format(23, 127), "f64": Format(52, 1023)}
_TWO_THIRDS = {"f32": 0x3F2AAAAB, "f64": 0x3FE5555555555555}
"""Bits of the smallest significand that `split` gives: with it, 1 lies in the middle of [2/3, 4/3)."""


def nearest_integer(x: Expression, factor: float = 1.0) -> tuple[Expression, Expression]:
    """The integer nearest to `x * factor`, as a float and as an integer; `x * factor` is of moderate size."""
    form = FORMATS[x.element]
    rounded = fma(x, factor, form.rounder)
    return rounded - form.rounder, rounded.bits() - form.rounder_bits


def power_of_two(n: Expression, element: str) -> Expression:
    """`2 ** n` for an integer n in the range of normal numbers."""
    form = FORMATS[element]
    return ((n + form.bias) << form.fraction_bits).bits_as(element)


def scaled(x: Expression, n: Expression) -> Expression:
    """`x * 2 ** n`, rounded once when the result is subnormal. One power of two would not reach that far."""
    half = n.shifted_right_signed(1)
    return x * power_of_two(half, x.element) * power_of_two(n - half, x.element)


def split(x: Expression) -> tuple[Expression, Expression]:
    """`(k, m)` with `x == m * 2 ** k` and m in [2/3, 4/3), for a normal positive x; k is an integer."""
    form = FORMATS[x.element]
    pattern = x.bits()
    exponent = (pattern - _TWO_THIRDS[x.element]).shifted_right_signed(form.fraction_bits)
    return exponent, (pattern - (exponent << form.fraction_bits)).bits_as(x.element)


def split_any(x: Expression) -> tuple[Expression, Expression]:
    """As `split`, for a subnormal positive x as well."""
    form = FORMATS[x.element]
    small = x < form.smallest_normal
    exponent, significand = split(select(small, x * 2.0**form.fraction_bits, x))
    return select(small, exponent - form.fraction_bits, exponent), significand


# Formula building blocks beside operators: fused products, bounds, signs and polynomials.


def fma(a: Operand, b: Operand, c: Operand) -> Expression:
    """`a * b + c`, rounded once."""
    like = next(operand for operand in (a, b, c) if isinstance(operand, Expression))
    return like.emit("math.fma", a, b, c)


def clamp(x: Expression, low: float, high: float) -> Expression:
    """Between the bounds; NaN stays NaN, because it compares false."""
    return at_most(select(x < low, low, x), high)


def at_most(x: Expression, high: float) -> Expression:
    """Not above the bound; NaN stays NaN."""
    return select(x > high, high, x)


def copysign(magnitude: Operand, sign: Expression) -> Expression:
    """The magnitude with the sign of `sign`."""
    return sign.emit("math.copysign", magnitude, sign)


def polynomial(x: Expression, coefficients: Sequence[float]) -> Expression:
    """By Horner's rule, the constant coefficient first."""
    *lower, highest = coefficients
    total = x.filled(highest)
    for coefficient in reversed(lower):
        total = fma(total, x, coefficient)
    return total
