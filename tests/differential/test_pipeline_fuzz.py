"""Generated producers and consumers: the CPU, and PTX on the PTX simulator, hand on what a model says.

Mass runs are `python -m benchmarks.pipeline_fuzz`; here a fixed list of seeds runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.differential.choices import RandomChoices
from tests.differential.pipelines.generator import generate
from tests.differential.pipelines.oracle import judge, judge_ptx
from tests.differential.seeded_runs import few_and_many, run_seeds
from tests.unit.targets.nvptx.tools import needs_assembler

SEEDS = range(6_000_000, 6_000_040)


@few_and_many(SEEDS, few=4)
def test_the_cpu_hands_on_what_the_model_says(seeds: Sequence[int]) -> None:
    run_seeds(lambda seed: judge(generate(RandomChoices(seed))), seeds)


@needs_assembler
@few_and_many(SEEDS[20:], few=2)
def test_ptx_hands_on_what_the_model_says(seeds: Sequence[int]) -> None:
    run_seeds(lambda seed: judge_ptx(generate(RandomChoices(seed))), seeds)
