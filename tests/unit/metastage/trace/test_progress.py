"""A trace that takes long says so, and one that is too long ends with an error at the loop that is the reason."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from triptych.metastage.trace import progress
from triptych.metastage.trace.errors import LongTraceError, StaticRequiredError
from triptych.support.config import override
from triptych.support.errors import SlowTraceWarning, TriptychWarning

MANY = 1_000_000


@tt.jit
def unrolled(x: tt.Int32) -> Any:
    for i in tt.range_constexpr(MANY):  # the loop
        x = x * 3 + i
    return x


@tt.jit
def over_a_list(x: tt.Int32) -> Any:
    for i in list(range(MANY)):  # the loop
        x = x * 3 + i
    return x


@tt.jit
def unrolled_in_full(x: tt.Int32) -> Any:
    for i in tt.range(MANY, unroll_full=True):  # the loop
        x = x * 3 + i
    return x


@tt.jit
def nested(x: tt.Int32) -> Any:
    for i in tt.range_constexpr(MANY):  # the loop
        for j in tt.range_constexpr(3):
            x = x * i + j
    return x


@tt.jit
def static_test(x: tt.Int32) -> Any:
    i = 0
    while i < MANY:  # the loop
        i += 1
        x = x * 3 + i
    return x


@tt.jit
def comprehension(x: tt.Int32) -> Any:
    return sum([x * i for i in range(MANY)])  # the loop


@tt.jit
def through_a_helper(x: tt.Int32) -> Any:
    for i in tt.range_constexpr(MANY):  # the loop
        x = step(x, i)
    return x


def step(x: Any, i: int) -> Any:
    return x * 3 + i


@tt.jit
def recursive(x: tt.Int32) -> Any:
    return fibonacci(25, x)


def fibonacci(n: int, x: Any) -> Any:
    if n < 2:
        return x
    return fibonacci(n - 1, x) + fibonacci(n - 2, x)


LONG = [unrolled, over_a_list, unrolled_in_full, nested, static_test, comprehension, through_a_helper, recursive]
each_long = pytest.mark.parametrize("function", LONG, ids=lambda function: function.__name__)


def line_of_the_loop(function: Any) -> int | None:
    code = function.function.__code__
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    marked = [number for number, line in enumerate(lines, start=1) if line.endswith("# the loop")]
    end = max(line for *_, line in code.co_lines() if line is not None)
    return next((number for number in marked if code.co_firstlineno <= number <= end), None)


@each_long
def test_a_program_that_becomes_too_long_is_an_error_at_its_loop(function: Any) -> None:
    with override(trace_limit=5_000, unroll_limit=MANY), pytest.raises(LongTraceError) as refused:
        function(1)
    assert "TRIPTYCH_TRACE_LIMIT" in refused.value.expected
    assert "5,000 operations" in refused.value.title
    assert refused.value.span is not None
    assert line_of_the_loop(function) in (refused.value.span.line, None)


@each_long
def test_a_program_that_takes_long_is_a_warning_at_its_loop(function: Any) -> None:
    limits = override(trace_limit=20_000, unroll_limit=MANY, slow_trace=0.001)
    with limits, pytest.warns(SlowTraceWarning) as warned, pytest.raises(LongTraceError):
        function(1)
    assert len(warned) == 1
    assert warned[0].filename == __file__
    assert line_of_the_loop(function) in (warned[0].lineno, None)
    assert "operations so far" in str(warned[0].message)
    assert issubclass(SlowTraceWarning, TriptychWarning)


def test_no_warning_is_a_setting() -> None:
    with override(trace_limit=20_000, slow_trace=0), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LongTraceError):
            unrolled(1)


def test_the_limit_can_be_raised() -> None:
    @tt.jit
    def f(x: tt.Int32) -> Any:
        for i in tt.range_constexpr(2_000):
            x = x + i
        return x

    with override(trace_limit=1_000), pytest.raises(LongTraceError):
        f(1)
    with override(trace_limit=10_000):
        assert f(1) == 1 + sum(range(2_000))


def test_a_loop_without_end_is_an_error_whose_limit_can_be_raised() -> None:
    @tt.jit
    def f(x: tt.Int32) -> Any:
        i = 0
        while i < 500:
            i += 1
        return x + i

    with override(unroll_limit=100), pytest.raises(StaticRequiredError, match="100 iterations") as refused:
        f(1)
    assert "TRIPTYCH_UNROLL_LIMIT" in refused.value.expected
    with override(unroll_limit=501):
        assert f(1) == 501


class Terminal(io.StringIO):
    """Something that a person looks at."""

    def isatty(self) -> bool:
        return True


def shown_on(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(progress, "_SHOWN_AFTER", 0.0)
    monkeypatch.setattr(progress, "_SHOWN_EVERY", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    with override(trace_limit=5_000, slow_trace=0), pytest.raises(LongTraceError):
        unrolled(1)
    return stream.getvalue()


def test_a_terminal_shows_one_line_that_goes_when_the_trace_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = shown_on(Terminal(), monkeypatch)
    assert "tracing unrolled: " in shown
    assert f"at line {line_of_the_loop(unrolled)}" in shown
    assert "\n" not in shown
    assert shown.endswith("\r\x1b[K")


def test_what_is_no_terminal_stays_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_on(io.StringIO(), monkeypatch) == ""


@pytest.mark.parametrize("make", [lambda: range(10), lambda: iter("abc"), lambda: (i for i in range(3))])
def test_loops_are_followed_while_they_last(make: Callable[[], Any]) -> None:
    following = progress.Progress()
    assert list(following.each(make())) == list(make())
    items = following.each(make())
    next(items)
    assert len(following._loops) == 1
    items.close()  # type: ignore[attr-defined]
    assert following._loops == []
