"""Loops whose iterations call methods that assign attributes are traced once, if the pre-stage knows the attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from triptych.metastage.control_flow.loops import Carried
from triptych.metastage.trace.errors import CarriedTypeError
from triptych.metastage.trace.trace import Region


class Scheduler:
    """Work by work, as kernels write it for themselves."""

    def __init__(self, is_persistent: bool) -> None:
        self.is_persistent = is_persistent
        self.is_first = True
        self.index = 0
        self.done: Any = 0
        self.turn: Any = None

    def advance(self) -> None:
        if self.is_persistent:
            self.index += 3
        self.is_first = False
        self.done += 1

    def advance_early(self) -> Any:
        if self.is_persistent:
            return 7
        self.done += 2
        return 5

    def halve(self) -> None:
        self.done = self.done / 2


def always(n: Any) -> Any:
    s = Scheduler(False)
    seen = 0
    for _ in range(n):
        seen = seen * 3 + s.done + (10 if s.is_first else 1)
        s.advance()
    return seen, s.done, s.is_first, s.index


def behind_a_condition(n: Any) -> Any:
    s = Scheduler(True)
    seen = 0
    for _ in range(n):
        seen += s.index
        s.advance()
    return seen, s.done, s.index


def behind_a_return(n: Any) -> Any:
    s, kept = Scheduler(False), 0
    for _ in range(n):
        kept = s.advance_early()
    return s.done, kept


def not_at_all(n: Any) -> Any:
    """The attribute stays one of Python, which counts a loop that is written out."""
    s, seen = Scheduler(True), 1
    for _ in range(n):
        seen += s.advance_early()
        for _ in tt.range_constexpr(s.done + 2):
            seen += 1
    return seen


def before_a_break(n: Any) -> Any:
    s = Scheduler(False)
    for i in range(n):
        if i > 2:
            break
        s.advance()
    return s.done


def by_what_the_object_holds(n: Any) -> Any:
    s, other = Scheduler(False), Scheduler(False)
    s.turn = other.advance
    for _ in range(n):
        s.turn()
    return s.done, other.done


def in_a_loop_in_a_loop(n: Any) -> Any:
    s = Scheduler(False)
    for _ in range(n):
        for _ in range(n):
            s.advance()
        s.advance()
    return s.done


def traces(monkeypatch: pytest.MonkeyPatch, program: Callable[[Any], Any]) -> int:
    """How often bodies of loops are traced; what they compute is what Python computes."""
    found = 0
    enter = Carried.enter

    def counted(carried: Carried, region: Region) -> Any:
        nonlocal found
        found += 1
        return enter(carried, region)

    monkeypatch.setattr(Carried, "enter", counted)
    compiled = tt.compile(program, 1)
    assert [compiled(n) for n in (0, 1, 2, 5)] == [program(n) for n in (0, 1, 2, 5)]
    return found


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (always, 1),
        (behind_a_condition, 2),
        (behind_a_return, 2),
        (not_at_all, 1),
        (before_a_break, 3),
        (by_what_the_object_holds, 3),
        (in_a_loop_in_a_loop, 2),
    ],
)
def test_a_loop_is_traced_again_only_for_what_was_not_known(
    monkeypatch: pytest.MonkeyPatch, program: Callable[[Any], Any], expected: int
) -> None:
    assert traces(monkeypatch, program) == expected


def test_a_mismatch_names_the_assignment_in_the_method() -> None:
    def program(n: Any) -> Any:
        s = Scheduler(False)
        for _ in range(n):
            s.halve()
        return s.done

    with pytest.raises(CarriedTypeError) as raised:
        tt.compile(program, 1)
    assert raised.value.span is not None
    assert raised.value.span.text().strip() == "self.done = self.done / 2"


def test_a_range_that_cannot_be_unrolled_loops_at_run_time() -> None:
    """`unroll_full` asks for speed: with bounds of the run it changes no result."""

    def program(first: Any, last: Any) -> Any:
        total = 0
        for i in tt.range(first, last, 3, unroll_full=True):
            total += i
        return total

    compiled = tt.compile(program, 1, 2)
    assert [compiled(1, n) for n in (0, 1, 2, 11)] == [sum(range(1, n, 3)) for n in (0, 1, 2, 11)]
