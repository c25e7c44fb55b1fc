"""Differential fuzzing: CPython, `PythonHooks`, compiled -O0 and compiled -O3 agree on generated programs.

Mass runs are `python -m benchmarks.fuzz`; here a fixed list of seeds runs for a bounded time, and Hypothesis draws
programs that shrink when they fail.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.differential.choices import DrawnChoices, RandomChoices
from tests.differential.generator import SMALL, generate
from tests.differential.oracle import agree, same_value
from tests.differential.program import Program

SEEDS = range(1_000_000, 1_001_000)
SECONDS = 60.0
FEWEST = 40
"""What even a slow machine gets through in that time."""


@st.composite
def programs(draw: st.DrawFn) -> Program:
    return generate(DrawnChoices(draw), SMALL)


@pytest.mark.slow
def test_all_executions_agree_on_a_fixed_list_of_seeds() -> None:
    deadline = time.monotonic() + SECONDS
    done = 0
    while done < len(SEEDS) and time.monotonic() < deadline:
        disagreement = agree(generate(RandomChoices(SEEDS[done])))
        assert disagreement is None, f"seed {SEEDS[done]}: {disagreement}"
        done += 1
    assert done >= FEWEST


@pytest.mark.slow
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(programs())
def test_all_executions_agree_on_drawn_programs(program: Program) -> None:
    disagreement = agree(program)
    assert disagreement is None, str(disagreement)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1, True),
        (1, True, False),
        (1, 1.0, False),
        (0.0, -0.0, False),
        (float("nan"), -float("nan"), True),
        ((1, (2.5, True)), (1, (2.5, True)), True),
        ((1, 2), (1, 2, 3), False),
        ((1, 2), [1, 2], False),
    ],
)
def test_values_are_compared_by_type_and_bits(left: object, right: object, same: bool) -> None:
    assert same_value(left, right) is same
