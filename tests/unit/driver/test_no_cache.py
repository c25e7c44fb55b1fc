"""`no_cache=True`: a call, or a compilation, that is done anew."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from triptych import cute


@tt.jit
def doubled(x: tt.Int32) -> Any:
    print("traced")  # while it is traced
    return x * 2


@tt.jit
def with_a_parameter(x: tt.Int32, no_cache: tt.Constexpr[bool]) -> Any:
    return x + 1 if no_cache else x


@tt.jit
def calls(x: tt.Int32) -> Any:
    return doubled(x)


def test_every_call_with_it_compiles(capsys: pytest.CaptureFixture[str]) -> None:
    def traced() -> int:
        return capsys.readouterr().out.count("traced")

    assert ([doubled(3), doubled(4)], traced()) == ([6, 8], 1)
    assert ([doubled(3, no_cache=True), doubled(4, no_cache=True)], traced()) == ([6, 8], 2)
    assert ([doubled(5, no_cache=False), doubled(6)], traced()) == ([10, 12], 0)
    assert ([calls(7, no_cache=True), calls(8)], traced()) == ([14, 16], 1)


def test_compile_takes_it_too() -> None:
    first, second = (cute.compile(doubled, 7, no_cache=True) for _ in range(2))
    assert first is not second
    assert (first(7), second(8)) == (14, 16)
    assert doubled.compile(7, no_cache=True) is not doubled.compile(7, no_cache=True)
    assert doubled.compile(7) is doubled.compile(7)


def test_a_parameter_of_that_name_is_an_argument() -> None:
    assert (with_a_parameter(1, no_cache=True), with_a_parameter(1, no_cache=False)) == (2, 1)
