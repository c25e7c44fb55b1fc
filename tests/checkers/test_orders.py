"""Checkers beside an oracle that keeps every access of every thread, on programs that are data of one kernel."""

from __future__ import annotations

from random import Random

import pytest

from tests.checkers.checked_programs import Run, checked
from tests.checkers.oracle import program, races, without_an_order


@pytest.fixture(scope="module")
def run() -> Run:
    return checked()


def test_ordered_programs_have_no_finding(run: Run) -> None:
    source = Random(1)
    assert not run([program(source) for _ in range(60)])


def test_programs_without_an_order_race_where_the_oracle_says(run: Run) -> None:
    source = Random(2)
    for _ in range(20):
        steps = without_an_order(source)
        assert bool(run([steps])) is races(steps), steps
