"""Divisors of kernels: an integer that is divided by again and again, as an object that crosses into kernels.

Input: an integer, known while tracing or at run time. Output: `FastDivmodDivisor` of the layout algebra, which is one
number where it crosses a branch, a loop or a launch. What is divided by it is divided by the number; a multiplication
in its place is the code generator's affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.layout import FastDivmodDivisor
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.aggregates import register_view
from triptych.metastage.values.scalars import Int32, Integer, Numeric, Uint32

__all__ = ["FastDivmodDivisor", "fast_divmod_create_divisor"]


def fast_divmod_create_divisor(divisor: int | Numeric, *, loc: object = None, ip: object = None) -> FastDivmodDivisor:
    """A divisor for `divmod(number, divisor)`, `number // divisor` and `number % divisor`."""
    if isinstance(divisor, bool) or not isinstance(divisor, int | Integer):
        raise OperandTypeError(
            "a divisor is an integer",
            span=place(),
            found=repr(divisor),
            expected="an int, an Int32 or a Uint32",
        )
    # Any: what it does with an integer, numbers of the program can do.
    integer: Any = divisor
    return FastDivmodDivisor(integer)


class _Crossing:
    """A divisor where it crosses: as one number, also where that is known."""

    def __init__(self, divisor: FastDivmodDivisor) -> None:
        self._divisor: Any = divisor.divisor

    def __extract_mlir_values__(self) -> list[Numeric]:
        known = self._divisor
        if isinstance(known, Numeric):
            return [known]
        return [Int32(known) if Int32.info.holds(known) else Uint32(known)]

    def __new_from_mlir_values__(self, values: Sequence[Numeric]) -> FastDivmodDivisor:
        (number,) = values
        return fast_divmod_create_divisor(number)

    def __static_part__(self) -> None:
        """Nothing."""


register_view(FastDivmodDivisor, _Crossing)
