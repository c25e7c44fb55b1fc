"""A slice of the litmus tests (`benchmarks/litmus.py` runs them by the million): no outcome that its order forbids."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.support.litmus import INSTANCES, ORDERS, TESTS, Litmus, Outcome, run

LAUNCHES = 4
MOST_LAUNCHES = 1000
"""After which a test that can fail should have."""
SHOWN = [TESTS[0], next(test for test in TESTS if test.name == "CoWR")]


def weak(test: Litmus, outcomes: Counter[Outcome]) -> dict[Outcome, int]:
    return {outcome: number for outcome, number in outcomes.items() if outcome not in test.sequential()}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_no_outcome_is_forbidden(test: Litmus, order: str) -> None:
    outcomes: Counter[Outcome] = sum(run(test, order, LAUNCHES), Counter())
    assert outcomes.total() == LAUNCHES * INSTANCES
    if test.forbids_weak(order):
        assert weak(test, outcomes) == {}


@pytest.mark.parametrize("test", SHOWN, ids=lambda test: test.name)
def test_lanes_of_a_warp(test: Litmus) -> None:
    outcomes: Counter[Outcome] = sum(run(test, "sc", LAUNCHES, lanes=32), Counter())
    assert weak(test, outcomes) == {}


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="threads that take turns see each other's stores at once")
def test_the_tests_can_fail() -> None:
    """Relaxed accesses may be seen in another order, and every machine with two cores shows it."""
    test = TESTS[0]
    assert any(weak(test, outcomes) for outcomes in run(test, "relaxed", MOST_LAUNCHES))


def test_interleavings() -> None:
    assert TESTS[0].sequential() == {(0, 1), (1, 0), (1, 1)}
    assert {test.name: 3**test.loads - len(test.sequential()) for test in TESTS if test.name == "CoRR"} == {"CoRR": 6}
