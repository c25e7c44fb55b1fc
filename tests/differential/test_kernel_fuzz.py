"""Differential fuzzing of kernels: the reference machine, compiled -O0 and compiled -O3 agree on generated kernels.

Mass runs are `python -m benchmarks.kernel_fuzz`; here a fixed list of seeds runs for a bounded time, and Hypothesis
draws kernels that shrink when they fail.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.differential.choices import DrawnChoices, RandomChoices
from tests.differential.kernels.generator import SMALL, generate
from tests.differential.kernels.oracle import agree
from tests.differential.kernels.program import KernelProgram

SEEDS = range(2_000_000, 2_000_060)
SECONDS = 90.0
FEWEST = 25
"""What even a slow machine gets through in that time."""


@st.composite
def programs(draw: st.DrawFn) -> KernelProgram:
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
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(programs())
def test_all_executions_agree_on_drawn_kernels(program: KernelProgram) -> None:
    disagreement = agree(program)
    assert disagreement is None, str(disagreement)
