"""Divisions by a zero that is known while tracing, where a run-time condition decides whether they happen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from triptych import cute


def by_a_constant(n: Any) -> Any:
    found = 0
    if n > 100:
        found = n // 0
    return found


def remainder_of_a_constant(n: Any) -> Any:
    found = n
    for i in range(n):
        if i > 100:
            found = n % 0
    return found


def of_numbers_of_python(n: Any) -> Any:
    steps, found = 0, 0
    if n > 100:
        found = 5 // steps
    return found


def quotient_of_numbers_of_python(n: Any) -> Any:
    steps = 0
    return 7 / steps if n > 100 else 0.5


def augmented(n: Any) -> Any:
    steps = 12
    if n > 100:
        steps %= 0
    return steps


PROGRAMS = [
    by_a_constant,
    remainder_of_a_constant,
    of_numbers_of_python,
    quotient_of_numbers_of_python,
    augmented,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_division_fails_when_it_happens(program: Callable[[int], Any]) -> None:
    compiled = tt.compile(program, 1)
    assert [compiled(n) for n in (0, 3)] == [program(n) for n in (0, 3)]
    with pytest.raises(ZeroDivisionError, match="TT0604"):
        compiled(105)


def test_division_that_is_certain_is_pythons_error() -> None:
    for program in (lambda n: n // 0, lambda n: n + 5 // 0):
        with pytest.raises(ZeroDivisionError):
            tt.compile(program, 1)


def test_elements_of_a_tensor_are_divided_when_they_are() -> None:
    def program(n: Any) -> Any:
        row = cute.full((4,), 8, tt.Int32)
        found = row[0]
        if n > 100:
            found = (row // 0)[1]
        return found

    compiled = tt.compile(program, 1)
    assert compiled(1) == 8
    with pytest.raises(ZeroDivisionError):
        compiled(101)
