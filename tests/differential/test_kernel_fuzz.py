"""Differential fuzzing of kernels: the reference machine, compiled -O0 and compiled -O3 agree on generated kernels.

Mass runs are `python -m benchmarks.kernel_fuzz`; here a fixed list of seeds runs for a bounded time, and Hypothesis
draws kernels that shrink when they fail.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.differential.bounded_runs import DRAWN, run_seeds
from tests.differential.choices import DrawnChoices, RandomChoices
from tests.differential.kernels.generator import SMALL, generate
from tests.differential.kernels.oracle import agree
from tests.differential.kernels.program import KernelProgram

SEEDS = range(2_000_000, 2_000_060)


@st.composite
def programs(draw: st.DrawFn) -> KernelProgram:
    return generate(DrawnChoices(draw), SMALL)


@pytest.mark.slow
def test_all_executions_agree_on_a_fixed_list_of_seeds() -> None:
    run_seeds(lambda seed: agree(generate(RandomChoices(seed))), SEEDS, seconds=45.0, fewest=10)


@pytest.mark.slow
@settings(DRAWN, max_examples=25)
@given(programs())
def test_all_executions_agree_on_drawn_kernels(program: KernelProgram) -> None:
    disagreement = agree(program)
    assert disagreement is None, str(disagreement)
