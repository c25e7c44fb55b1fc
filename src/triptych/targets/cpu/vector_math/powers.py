"""Powers of `f32` lanes: pow and cbrt.

pow goes through `f64`: the exponent y * log2(x) has up to 8 bits before the point, and a float would lack them behind
it. In `f64` no `f32` is subnormal, and the last conversion rounds, overflows and underflows as it should.
"""

from __future__ import annotations

import math

from triptych.ir.expressions import Expression, select
from triptych.targets.cpu.vector_math.binary_floats import (
    clamp,
    copysign,
    fma,
    nearest_integer,
    polynomial,
    power_of_two,
    split,
)
from triptych.targets.cpu.vector_math.exponentials import exp2, log2

_LOG2 = (
    *(1.44269504089257, -0.721347520469111, 0.480898343807173, -0.3606737519046896, 0.288539457896474),
    *(-0.24044998146208799, 0.2060753542870038, -0.18030249379601146, 0.16090195557424006, -0.1450140386546114),
    *(0.12347711580771827, -0.11172777843688071, 0.1577985490004779, -0.1505754085168316),
)
"""log2(1 + f) / f for |f| <= 1/3, with a relative error of 2**-38.5; a division would cost more than its length."""
_EXP2 = (
    *(1.0000000005541556, 0.6931472057373329, 0.24022646890650354, 0.0555032877681101),
    *(0.00961848895567845, 0.0013399931274398111, 0.0001534581241236948),
)
"""2**r for |r| <= 1/2, with a relative error of 2**-29."""
_INVERSE_CUBE_ROOT_OF_ONE = 0x54A21D2A
"""Minus a third of the bits of x, this is the bits of about x ** (-1/3): bits count logarithms."""


def power(x: Expression, y: Expression) -> Expression:
    """All special cases as C has them."""
    size = abs(x)
    exponent = y.convert("extf", "f64") * _log2(size)
    exponent = select(size.equals(1.0) | y.equals(0.0), 0.0, exponent)
    return _with_sign(x, y, _exp2(clamp(exponent, -160.0, 130.0)).convert("truncf", "f32"))


def power_fast(x: Expression, y: Expression) -> Expression:
    """2 ** (y * log2(x)); the error grows with the exponent, and a negative x gives NaN."""
    return exp2(y * log2(x))


def _with_sign(x: Expression, y: Expression, size: Expression) -> Expression:
    """Odd integers keep the sign of x; other numbers are no exponents of a finite negative x."""
    half = y * 0.5
    whole = y.equals(y.applied("trunc"))
    odd = whole & half.differs(half.applied("trunc"))
    size = select((x < 0.0) & (x > -math.inf) & ~whole, math.nan, size)
    return select(odd, copysign(size, x), size)


def _log2(x: Expression) -> Expression:
    """log2 of a positive `f32`, in `f64`."""
    wide = x.convert("extf", "f64")
    k, m = split(wide)
    f = m - 1.0
    result = fma(f, polynomial(f, _LOG2), k.convert("sitofp", "f64"))
    result = select(x < math.inf, result, wide)
    return select(x.equals(0.0), -math.inf, result)


def _exp2(x: Expression) -> Expression:
    whole, n = nearest_integer(x)
    return polynomial(x - whole, _EXP2) * power_of_two(n, "f64")


def cbrt(x: Expression) -> Expression:
    """x times the square of x ** (-1/3), whose iteration needs no division, and one step of Newton's rule."""
    subnormal = abs(x) < 2.0**-126
    size = abs(select(subnormal, x * 2.0**24, x))
    third = (size.bits().convert("sitofp", "f32") * (1.0 / 3.0)).convert("fptosi", "i32")
    inverse = (_INVERSE_CUBE_ROOT_OF_ONE - third).bits_as("f32")
    for _ in range(2):
        off = 1.0 - (size * inverse) * (inverse * inverse)
        inverse = fma(inverse * off, fma(off, 2.0 / 9.0, 1.0 / 3.0), inverse)
    square = inverse * inverse
    root = size * square
    root = fma(fma(-root * root, root, size), square * (1.0 / 3.0), root)
    root = select(subnormal, root * 2.0**-8, root)
    return copysign(select(size < math.inf, root, size), x)
