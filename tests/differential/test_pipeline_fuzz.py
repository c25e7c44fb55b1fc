"""Generated producers and consumers: the CPU, and PTX on a GPU made of NumPy, hand on what a model says.

Mass runs are `python -m benchmarks.pipeline_fuzz`; here a fixed list of seeds runs for a bounded time.
"""

from __future__ import annotations

import pytest

from tests.differential.bounded_runs import run_seeds
from tests.differential.choices import RandomChoices
from tests.differential.pipelines.generator import generate
from tests.differential.pipelines.oracle import judge, judge_ptx
from tests.unit.targets.nvptx.tools import needs_assembler

SEEDS = range(6_000_000, 6_000_040)


def test_the_cpu_hands_on_what_the_model_says() -> None:
    run_seeds(lambda seed: judge(generate(RandomChoices(seed))), SEEDS, seconds=10.0, fewest=1)


@needs_assembler
def test_ptx_hands_on_what_the_model_says() -> None:
    run_seeds(lambda seed: judge_ptx(generate(RandomChoices(seed))), SEEDS[20:], seconds=5.0, fewest=1)


@pytest.mark.slow
def test_more_of_both() -> None:
    run_seeds(lambda seed: judge(generate(RandomChoices(seed))), SEEDS, seconds=20.0, fewest=2)
