"""Divisors that cross into kernels: they give what integers give, and are one number wherever they cross."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cutlass_dsl import extract_mlir_values, new_from_mlir_values
from triptych.metastage.trace.errors import OperandTypeError

NUMBERS = [0, 1, 6, 7, 8, 100, 2**31 - 1]


class Extents:
    """As programs have parameters of a scheduler: the divisor belongs to them."""

    def __init__(self, count: Any, divisor: Any = None) -> None:
        self.count = count
        self.divisor = cute.fast_divmod_create_divisor(count) if divisor is None else divisor

    def __extract_mlir_values__(self) -> list[Any]:
        return extract_mlir_values(self.count) + extract_mlir_values(self.divisor)

    def __new_from_mlir_values__(self, values: Any) -> Extents:
        count = new_from_mlir_values(self.count, (values[0],))
        return Extents(count, new_from_mlir_values(self.divisor, (values[1],)))


@tt.kernel
def divided(extents: Extents, numbers: cute.Tensor, out: cute.Tensor) -> None:
    i, _, _ = cute.arch.thread_idx()
    if i < numbers.shape[0]:
        quotient, remainder = divmod(numbers[i], extents.divisor)
        out[i, 0] = quotient
        out[i, 1] = remainder
        out[i, 2] = numbers[i] // extents.divisor
        out[i, 3] = numbers[i] % extents.divisor


@tt.jit
def by_run_time(count: tt.Int32, numbers: cute.Tensor, out: cute.Tensor) -> None:
    divided(Extents(count), numbers, out).launch(grid=1, block=32)


@pytest.mark.parametrize("divisor", [1, 2, 7, 1000, 2**31 - 1])
def test_a_divisor_gives_what_its_integer_gives(divisor: int) -> None:
    out = np.zeros((len(NUMBERS), 4), np.int32)
    by_run_time(divisor, np.array(NUMBERS, np.int32), out)
    assert out.tolist() == [[*divmod(n, divisor)] * 2 for n in NUMBERS]


def test_a_known_divisor_is_one_number_too() -> None:
    @tt.jit
    def known(n: tt.Int32, large: tt.Uint32) -> Any:
        divisor = cute.fast_divmod_create_divisor(7)
        values = extract_mlir_values(divisor)
        assert len(values) == 1
        again = new_from_mlir_values(divisor, values)
        largest = cute.fast_divmod_create_divisor(2**32 - 1)
        (whole,) = extract_mlir_values(largest)
        return (*divmod(n, again), *divmod(n, divisor), divmod(large, new_from_mlir_values(largest, (whole,)))[0])

    assert known(100, 2**32 - 1) == (14, 2, 14, 2, 1)


def test_division_by_zero_is_the_error_of_integers() -> None:
    @tt.jit
    def quotient(n: tt.Int32, count: tt.Int32) -> Any:
        divisor: Any = cute.fast_divmod_create_divisor(count)
        return n // divisor

    assert quotient(9, 2) == 4
    with pytest.raises(ZeroDivisionError):
        quotient(9, 0)


@pytest.mark.parametrize("wrong", [1.5, "7", True, None])
def test_a_divisor_is_an_integer(wrong: Any) -> None:
    with pytest.raises(OperandTypeError, match="a divisor is an integer"):
        cute.fast_divmod_create_divisor(wrong)


class WithNumber(cute.FastDivmodDivisor):
    """As QuACK derives from it: the number crosses beside what divides."""

    def __init__(self, divisor: Any, is_power_of_2: Any = None, *, loc: Any = None, ip: Any = None) -> None:
        super().__init__(divisor, is_power_of_2=is_power_of_2, loc=loc, ip=ip)
        self.divisor = divisor

    def __extract_mlir_values__(self) -> list[Any]:
        return [self._divisor, *extract_mlir_values(self.divisor)]

    def __new_from_mlir_values__(self, values: Any) -> WithNumber:
        made = object.__new__(WithNumber)
        made._divisor = values[0]
        made.divisor = new_from_mlir_values(self.divisor, values[1:])
        return made


def test_programs_derive_divisors() -> None:
    @tt.kernel
    def divides(by: WithNumber, out: cute.Tensor) -> None:
        i, _, _ = cute.arch.thread_idx()
        out[i] = i // by * by.divisor + i % by

    @tt.jit
    def host(n: tt.Int32, out: cute.Tensor) -> None:
        divides(WithNumber(n), out).launch(grid=1, block=32)

    out = np.zeros(32, np.int32)
    host(5, out)
    assert out.tolist() == list(range(32))
