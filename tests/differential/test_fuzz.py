"""Differential fuzzing: CPython, `PythonHooks`, compiled -O0 and compiled -O3 agree on generated programs.

Mass runs are `python -m benchmarks.fuzz`; here a fixed list of seeds runs for a bounded time, and Hypothesis draws
programs that shrink when they fail.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.differential.bounded_runs import DRAWN, run_seeds
from tests.differential.choices import DrawnChoices, RandomChoices
from tests.differential.generator import SMALL, generate
from tests.differential.oracle import agree, same_value
from tests.differential.program import Program
from triptych.prestage import sizes

SEEDS = range(1_000_000, 1_001_000)
CUT_UP_SEEDS = range(2_000_000, 2_001_000)
"""As long programs are treated: every `elif`, early exit and operand beyond the first is cut off."""


@st.composite
def programs(draw: st.DrawFn) -> Program:
    return generate(DrawnChoices(draw), SMALL)


@pytest.mark.slow
def test_all_executions_agree_on_a_fixed_list_of_seeds() -> None:
    run_seeds(lambda seed: agree(generate(RandomChoices(seed))), SEEDS, seconds=30.0, fewest=20)


@pytest.mark.slow
def test_all_executions_agree_on_programs_that_are_cut_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_NESTED", "MOST_TERMS", "MOST_IN_A_SCOPE"):
        monkeypatch.setattr(sizes, name, 1)
    run_seeds(lambda seed: agree(generate(RandomChoices(seed))), CUT_UP_SEEDS, seconds=20.0, fewest=10)


@pytest.mark.slow
@settings(DRAWN, max_examples=60)
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
