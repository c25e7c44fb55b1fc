"""Generated GEMMs of Blackwell: the CPU, and PTX on the PTX simulator, store what NumPy computes, to the bit.

Mass runs are `python -m benchmarks.blackwell_fuzz`; here a fixed list of seeds runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.differential.blackwell.generator import generate
from tests.differential.blackwell.oracle import judge, judge_ptx
from tests.differential.choices import RandomChoices
from tests.differential.seeded_runs import few_and_many, run_seeds
from tests.unit.targets.nvptx.tools import needs_assembler

SEEDS = range(7_000_000, 7_000_060)


@few_and_many([504, *SEEDS[:30]], few=5)
def test_the_cpu_stores_what_numpy_computes(seeds: Sequence[int]) -> None:
    """In program 504 TMA stores two halves of a tile's columns, each with less in a row than the widest swizzle."""
    run_seeds(lambda seed: judge(generate(RandomChoices(seed))), seeds)


@needs_assembler
@few_and_many([1003, *SEEDS[30:]], few=1)
def test_ptx_stores_what_numpy_computes(seeds: Sequence[int]) -> None:
    """Program 1003 has launch control, whose refusals have no index that could be asked for."""
    run_seeds(lambda seed: judge_ptx(generate(RandomChoices(seed))), seeds)


@pytest.mark.parametrize("order", ["late", "seed:1"])
def test_the_order_of_asynchronous_operations_changes_nothing(order: str) -> None:
    run_seeds(lambda seed: judge(generate(RandomChoices(seed)), order), SEEDS[4:5])
