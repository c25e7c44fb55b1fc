"""The second call of a function means what the first one meant: nothing is taken for the same that is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from triptych.diagnostics.runtime_errors import DivisionByZeroError
from triptych.driver.jitting import MOST_WARM
from triptych.driver.warm_calls import warm_code

OFFSET = 1


def test_defaults_and_keywords() -> None:
    @tt.jit
    def scaled(n: tt.Int32, factor: tt.Int32 | int = 3) -> Any:
        return n * factor

    for _ in range(3):
        assert scaled(2) == 6
        assert scaled(2, 5) == 10
        assert scaled(factor=7, n=2) == 14


def test_a_default_that_changes() -> None:
    @tt.jit
    def scaled(n: tt.Int32, factor: tt.Int32 | int = 3) -> Any:
        return n * factor

    assert [scaled(2) for _ in range(3)] == [6] * 3
    scaled.__wrapped__.__defaults__ = (4,)
    assert [scaled(2) for _ in range(3)] == [8] * 3


def test_every_way_to_give_an_argument_is_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call by keyword or default bound its arguments anew, which took 40 times as long as one by position."""

    @tt.jit
    def joined(a: tt.Int32, b: tt.Int32 | int = 2, *, c: tt.Int32 | int = 3, scale: tt.Constexpr[int] = 100) -> Any:
        return a * scale + b * 10 + c

    ways: list[tuple[Callable[[], Any], int]] = [
        (lambda: joined(1), 123),
        (lambda: joined(1, 5), 153),
        (lambda: joined(1, b=6), 163),
        (lambda: joined(1, c=7), 127),
        (lambda: joined(c=8, b=4, a=2), 248),
        (lambda: joined(1, scale=1000), 1023),
    ]
    for _ in range(2):
        assert [call() for call, _ in ways] == [right for _, right in ways]
    bound: list[object] = []
    monkeypatch.setattr(joined, "_bind", lambda *given: bound.append(given))
    assert [call() for call, _ in ways] == [right for _, right in ways]
    assert bound == []


def test_keywords_of_a_warm_call_that_are_wrong() -> None:
    @tt.jit
    def scaled(n: tt.Int32, factor: tt.Int32 | int = 3) -> Any:
        return n * factor

    for _ in range(3):
        assert scaled(n=2, factor=4) == 8
        with pytest.raises(TypeError):
            scaled(n=2, factr=4)
        with pytest.raises(TypeError):
            scaled(2, n=2, factor=4)
        assert scaled(n=2, no_cache=True) == 6
    scaled.__wrapped__.__defaults__ = None
    with pytest.raises(TypeError):
        scaled(2)


def test_any_number_of_arguments() -> None:
    @tt.jit
    def total(*numbers: Any) -> Any:
        found = 0
        for number in tt.range_constexpr(len(numbers)):
            found = found + numbers[number]
        return found

    for _ in range(3):
        assert total(1, 2) == 3
        assert total(1, 2, 3) == 6


def test_each_type_has_its_own_code() -> None:
    @tt.jit
    def halved(value: Any) -> Any:
        return value / 2

    for _ in range(3):
        assert halved(3) == 1.5
        assert halved(3.0) == 1.5
        assert halved(True) == 0.5
        assert halved(tt.Float64(0.2)) == 0.1


def test_more_static_values_than_warm_calls() -> None:
    @tt.jit
    def raised(base: tt.Int32, exponent: tt.Constexpr[int]) -> Any:
        value = 1
        for _ in tt.range_constexpr(exponent):
            value = value * base
        return value

    for _ in range(3):
        assert [raised(2, exponent) for exponent in range(12)] == [2**exponent for exponent in range(12)]


def test_static_values_that_are_equal_but_not_the_same() -> None:
    @tt.jit
    def text(_n: tt.Int32, value: tt.Constexpr[Any]) -> Any:
        return len(repr(value))

    for _ in range(3):
        assert [text(0, value) for value in (1, True, 1.0, 0.0, -0.0)] == [1, 4, 3, 3, 4]


def test_a_global_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    @tt.jit
    def moved(n: tt.Int32) -> Any:
        return n + OFFSET

    assert [moved(1) for _ in range(3)] == [2] * 3
    monkeypatch.setitem(globals(), "OFFSET", 10)
    assert [moved(1) for _ in range(3)] == [11] * 3
    monkeypatch.undo()
    assert [moved(1) for _ in range(3)] == [2] * 3


def test_errors_of_warm_calls() -> None:
    @tt.jit
    def divided(a: tt.Int32, b: tt.Int32) -> Any:
        return a // b

    for _ in range(3):
        assert divided(7, 2) == 3
        with pytest.raises(DivisionByZeroError):
            divided(7, 0)


def test_more_specializations_than_warm_calls_in_turns() -> None:
    """Code that asks the same questions is compiled once, however often a warm call is made anew."""

    @tt.jit
    def increased(n: tt.Int32, by: tt.Constexpr[int]) -> Any:
        return n + by

    def turn() -> list[Any]:
        return [increased(1, by) for by in range(2 * MOST_WARM)]

    assert turn() == [1 + by for by in range(2 * MOST_WARM)]
    before = warm_code.cache_info().misses
    assert turn() == turn()
    assert warm_code.cache_info().misses == before


def test_a_warm_function_called_by_python_code_that_is_being_traced() -> None:
    """Inside a trace it is inlined, as if it had never been called before."""

    @tt.jit
    def increased(n: tt.Int32) -> Any:
        return n + 1

    @tt.jit
    def both(n: tt.Int32) -> Any:
        return increased(n) * 2 + increased(5)

    assert [increased(1) for _ in range(3)] == [2] * 3
    assert both(1) == 10
    assert "call" not in tt.compile(both, 1).mlir
