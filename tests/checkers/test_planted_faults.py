"""A slice of the planted faults: each is found at its lines, and nothing is found in the right program.

`python -m benchmarks.planted_faults` runs all of them, and those that a script plants in the examples.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkers.block_pairs import BLOCKS
from tests.checkers.corpus import PAIRS
from tests.checkers.hopper_pairs import HOPPER
from tests.checkers.pairs import Pair, is_found, judged
from tests.checkers.protocol_pairs import VIOLATIONS
from tests.checkers.remote_barrier_pairs import REMOTE
from tests.checkers.tensor_memory_pairs import TENSOR_MEMORY

EVERY = 8
SLICE = (*PAIRS[::EVERY], *HOPPER[1::7], *REMOTE[::17], *BLOCKS[::5], *VIOLATIONS[3::16])


@pytest.mark.parametrize("pair", SLICE, ids=lambda pair: pair.name)
def test_wrong_is_found_and_right_is_clean(pair: Pair, tmp_path: Path) -> None:
    wrong = judged(pair, tmp_path, wrong=True)
    assert is_found(pair, wrong), "\n\n".join(wrong.texts)
    right = judged(pair, tmp_path, wrong=False)
    assert not right.findings, "\n\n".join(right.texts)


def test_names_are_unique() -> None:
    assert len({pair.name for pair in PAIRS}) == len(PAIRS)
    assert len({pair.name for pair in (*HOPPER, *REMOTE, *BLOCKS, *VIOLATIONS)}) == sum(
        map(len, (HOPPER, REMOTE, BLOCKS, VIOLATIONS))
    )


def test_there_are_enough_of_each_kind() -> None:
    assert len(HOPPER) >= 16
    assert len(BLOCKS) >= 10
    assert len(TENSOR_MEMORY) >= 24
