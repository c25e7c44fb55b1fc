"""Differential fuzzing of kernels: the reference machine, compiled -O0 and compiled -O3 agree on generated kernels.

Mass runs are `python -m benchmarks.kernel_fuzz`; here a fixed list of seeds runs, and Hypothesis
draws kernels that shrink when they fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.differential.choices import DrawnChoices, RandomChoices
from tests.differential.kernels.generator import SMALL, generate
from tests.differential.kernels.oracle import agree
from tests.differential.kernels.program import KernelProgram
from tests.differential.seeded_runs import DRAWN, few_and_many, run_seeds
from tests.support.examples import examples

SEEDS = range(2_000_000, 2_000_060)


@st.composite
def programs(draw: st.DrawFn) -> KernelProgram:
    return generate(DrawnChoices(draw), SMALL)


@few_and_many(SEEDS, few=4)
def test_all_executions_agree_on_a_fixed_list_of_seeds(seeds: Sequence[int]) -> None:
    run_seeds(lambda seed: agree(generate(RandomChoices(seed))), seeds)


@examples(20, DRAWN)
@given(programs())
def test_all_executions_agree_on_drawn_kernels(program: KernelProgram) -> None:
    disagreement = agree(program)
    assert disagreement is None, str(disagreement)
