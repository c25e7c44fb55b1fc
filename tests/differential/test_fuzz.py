"""Differential fuzzing: CPython, `PythonHooks`, compiled -O0 and compiled -O3 agree on generated programs.

Mass runs are `python -m benchmarks.fuzz`; here a fixed list of seeds runs, and Hypothesis draws programs that shrink
when they fail.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.differential.choices import DrawnChoices, RandomChoices
from tests.differential.generator import SMALL, generate
from tests.differential.oracle import agree, same_value
from tests.differential.program import Program
from tests.differential.seeded_runs import DRAWN, few_and_many, run_seeds
from tests.support.examples import examples
from triptych.prestage import splitting

SEEDS = range(1_000_000, 1_000_300)
CUT_UP_SEEDS = range(2_000_000, 2_000_150)
"""As long programs are treated: every `elif`, early exit and operand beyond the first is cut off."""


@st.composite
def programs(draw: st.DrawFn) -> Program:
    return generate(DrawnChoices(draw), SMALL)


@few_and_many(SEEDS, few=12)
def test_all_executions_agree_on_a_fixed_list_of_seeds(seeds: Sequence[int]) -> None:
    run_seeds(lambda seed: agree(generate(RandomChoices(seed))), seeds)


@few_and_many(CUT_UP_SEEDS, few=6)
def test_all_executions_agree_on_programs_that_are_cut_up(
    seeds: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOST_NESTED", "MOST_TERMS", "MOST_IN_A_SCOPE"):
        monkeypatch.setattr(splitting, name, 1)
    run_seeds(lambda seed: agree(generate(RandomChoices(seed))), seeds)


@examples(60, DRAWN)
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
