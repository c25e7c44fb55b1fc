"""Attributes that a method assigns on `self`: static ones stay, run-time ones are local to the call."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from triptych.driver import jitting
from triptych.driver.compiling import compiled_function
from triptych.metastage.trace.errors import LeakedValueError


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that are compiled, as they are."""
    seen: list[str] = []

    def counting(job: Any, *others: Any) -> Any:
        seen.append(job.function.__name__)
        return compiled_function(job, *others)

    monkeypatch.setattr(jitting, "compiled_function", counting)
    return seen


class Scaled:
    """What a kernel class does in its call: derives settings, keeps a run-time value for its helpers."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    @tt.jit
    def __call__(self, n: tt.Int32) -> Any:
        self.tile = (self.factor * 2, 4)
        self.stages = [self.factor, 1]
        self.kept = n * 3
        return self.use()

    def use(self) -> Any:
        return self.kept + self.tile[0] + self.stages[0]


def test_attributes_assigned_before_they_are_read_do_not_compile_twice(compilations: list[str]) -> None:
    scaled = Scaled(5)
    assert [scaled(n) for n in (1, 2, 3)] == [18, 21, 24]
    assert compilations == ["__call__"]


def test_what_the_program_depends_on_is_still_watched(compilations: list[str]) -> None:
    scaled = Scaled(5)
    assert scaled(1) == 18
    scaled.factor = 7
    assert [scaled(1), scaled(1)] == [24, 24]
    assert compilations == ["__call__"] * 2


def test_static_values_stay_and_run_time_values_say_that_their_call_has_ended() -> None:
    scaled = Scaled(5)
    scaled(1)
    assert scaled.tile == (10, 4)
    assert "ended call" in repr(scaled.kept)
    kept: Any = scaled.kept
    for use in (lambda: kept + 1, lambda: bool(kept), lambda: kept.x, lambda: list(kept)):
        with pytest.raises(LeakedValueError) as caught:
            use()
        assert "Scaled.kept" in caught.value.title


def test_a_value_of_an_ended_call_is_no_value_of_the_next() -> None:
    class Reading:
        @tt.jit
        def first(self, n: tt.Int32) -> Any:
            self.kept = n
            return n

        @tt.jit
        def second(self, n: tt.Int32) -> Any:
            return n + self.kept

    reading = Reading()
    reading.first(1)
    with pytest.raises(LeakedValueError):
        reading.second(1)


def test_attributes_that_count_calls_count_them() -> None:
    class Counting:
        def __init__(self) -> None:
            self.calls = 0

        @tt.jit
        def __call__(self, n: tt.Int32) -> Any:
            self.calls += 1
            return n + self.calls

    counting = Counting()
    assert [counting(10) for _ in range(4)] == [11, 12, 13, 14]
    assert counting.calls == 4


KEPT: list[Any] = []


def test_run_time_values_do_not_outlive_the_call_in_other_objects() -> None:
    @tt.jit
    def keep(n: tt.Int32) -> Any:
        KEPT.append(n)
        return n

    with pytest.raises(LeakedValueError) as caught:
        keep(1)
    KEPT.clear()
    assert caught.value.span is not None
