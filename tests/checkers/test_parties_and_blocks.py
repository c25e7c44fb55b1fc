"""A slice of the faults of the asynchronous tier and between blocks: each is found, and the right program is clean.

`python -m benchmarks.planted_faults` runs all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkers.block_pairs import BLOCKS
from tests.checkers.hopper_pairs import HOPPER
from tests.checkers.pairs import Pair, is_found, judged

SLICE = (*HOPPER[1::7], *BLOCKS[::5])


@pytest.mark.parametrize("pair", SLICE, ids=lambda pair: pair.name)
def test_wrong_is_found_and_right_is_clean(pair: Pair, tmp_path: Path) -> None:
    wrong = judged(pair, tmp_path, wrong=True)
    assert is_found(pair, wrong), "\n\n".join(wrong.texts)
    right = judged(pair, tmp_path, wrong=False)
    assert not right.findings, "\n\n".join(right.texts)


def test_there_are_enough() -> None:
    assert len(HOPPER) >= 16
    assert len(BLOCKS) >= 10
    assert len({pair.name for pair in (*HOPPER, *BLOCKS)}) == len(HOPPER) + len(BLOCKS)
