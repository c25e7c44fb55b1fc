"""Checkers beside an oracle that keeps every access of every thread, on programs that are data of one kernel."""

from __future__ import annotations

from random import Random

import pytest

from tests.checkers.checked_programs import Run, checked
from tests.checkers.oracle import program


@pytest.fixture(scope="module")
def run() -> Run:
    return checked()


def test_ordered_programs_have_no_finding(run: Run) -> None:
    source = Random(1)
    assert not run([program(source, ordered=True)[0] for _ in range(60)])


def test_random_programs_race_where_the_oracle_says(run: Run) -> None:
    source = Random(2)
    for _ in range(12):
        steps, races = program(source, ordered=False)
        assert bool(run([steps])) is races, steps
