"""Division by a number that stays the same: a multiplication and a shift.

Input: a divisor, prepared once. Output: quotient and remainder of unsigned 32-bit numbers without dividing.
"""

from __future__ import annotations

from dataclasses import field

from triptych.layout.errors import DeclarationError
from triptych.layout.integers import DynamicInt, Int
from triptych.support.dataclass import dataclass

_BITS = 32


@dataclass(frozen=True, slots=True)
class FastDivmodDivisor:
    """A divisor with its multiplier and shift: n // divisor == (n * multiplier) >> shift for 0 <= n < 2**32."""

    divisor: Int
    multiplier: int = field(init=False)
    shift: int = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.divisor, int):
            multiplier, shift = 0, 0
        elif self.divisor < 1:
            raise DeclarationError("a fast divisor is a positive integer", found=str(self.divisor))
        else:
            # 2**shift >= divisor * 2**32 makes the rounding error of the multiplier smaller than one step.
            shift = _BITS + (self.divisor - 1).bit_length()
            multiplier = -(-(1 << shift) // self.divisor)
        object.__setattr__(self, "multiplier", multiplier)
        object.__setattr__(self, "shift", shift)

    def __rdivmod__(self, number: Int) -> tuple[Int, Int]:
        if isinstance(number, int) and isinstance(self.divisor, int):
            if not 0 <= number < 1 << _BITS:
                raise DeclarationError("a fast division takes an unsigned 32-bit number", found=str(number))
            quotient: Int = (number * self.multiplier) >> self.shift
        else:
            quotient = number // self.divisor
        return quotient, number - quotient * self.divisor

    def __rfloordiv__(self, number: Int) -> Int:
        return self.__rdivmod__(number)[0]

    def __rmod__(self, number: Int) -> Int:
        return self.__rdivmod__(number)[1]


def fast_divmod_create_divisor(divisor: int | DynamicInt) -> FastDivmodDivisor:
    """A divisor prepared for `divmod(number, divisor)`."""
    return FastDivmodDivisor(divisor)
