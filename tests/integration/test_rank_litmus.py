"""A slice of the litmus tests across processes (`benchmarks/rank_litmus.py` runs them by the million)."""

from __future__ import annotations

import sys

import pytest

from tests.support.litmus import INSTANCES, ORDERS, TESTS
from tests.support.rank_litmus import outcomes_across_ranks

LAUNCHES = 2
NAMES = ["store buffering", "message passing", "message passing, fences", "2+2W", "CoRR"]


@pytest.mark.skipif(sys.platform != "linux", reason="ranks need addresses that Linux lets a program choose")
def test_no_outcome_is_forbidden_across_processes() -> None:
    found = outcomes_across_ranks(NAMES, list(ORDERS), LAUNCHES)
    assert len(found) == len(NAMES) * len(ORDERS)
    for test in TESTS:
        for order in ORDERS if test.name in NAMES else ():
            outcomes = found[test.name, order]
            assert outcomes.total() == LAUNCHES * INSTANCES
            if test.forbids_weak(order):
                assert set(outcomes) <= test.sequential(), (test.name, order)
