"""Divisors of kernels: an integer that is divided by again and again, as an object that crosses into kernels.

Input: an integer, known while tracing or at run time. Output: an object that is one number where it crosses a branch, a
loop or a launch. What is divided by it is divided by the number; a multiplication in its place is the code generator's
affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Int32, Integer, Numeric, Uint32

Number: TypeAlias = Any
"""A number of the program or of Python, which knows how to divide."""

__all__ = ["FastDivmodDivisor", "fast_divmod_create_divisor"]


class FastDivmodDivisor:
    """A divisor for `divmod(number, divisor)`, `number // divisor` and `number % divisor`.

    Programs derive from it, and let `_divisor`, the number that crosses, cross with more.
    """

    _known: int | None = None
    """The integer while it is known, so that known numbers give known ones."""

    def __init__(
        self, divisor: int | Numeric, is_power_of_2: bool | None = None, *, loc: object = None, ip: object = None
    ) -> None:
        if isinstance(divisor, bool) or not isinstance(divisor, int | Integer):
            raise OperandTypeError(
                "a divisor is an integer",
                span=place(),
                found=repr(divisor),
                expected="an int, an Int32 or a Uint32",
            )
        if isinstance(divisor, int):
            self._known = divisor
            self._divisor: Any = Int32(divisor) if Int32.info.holds(divisor) else Uint32(divisor)
        else:
            self._divisor = divisor

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._divisor if self._known is None else self._known})"

    def __rdivmod__(self, number: Number) -> tuple[Number, Number]:
        by = self._divisor if self._known is None else self._known
        quotient = number // by
        return quotient, number - quotient * by

    def __rfloordiv__(self, number: Number) -> Number:
        return self.__rdivmod__(number)[0]

    def __rmod__(self, number: Number) -> Number:
        return self.__rdivmod__(number)[1]

    def __extract_mlir_values__(self) -> list[Any]:
        return [self._divisor]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> FastDivmodDivisor:
        (number,) = values
        return FastDivmodDivisor(number)

    def __static_part__(self) -> None:
        """Nothing."""


def fast_divmod_create_divisor(divisor: int | Numeric, *, loc: object = None, ip: object = None) -> FastDivmodDivisor:
    """A divisor for `divmod(number, divisor)`, `number // divisor` and `number % divisor`."""
    return FastDivmodDivisor(divisor)
