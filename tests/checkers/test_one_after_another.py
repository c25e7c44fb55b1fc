"""What one kernel has left in the memory of the checkers says nothing of the next one."""

from __future__ import annotations

from pathlib import Path

from tests.checkers.corpus import PAIRS
from tests.checkers.hopper_pairs import HOPPER
from tests.checkers.pairs import judged
from triptych.support.config import override

PLAIN = [pair for pair in PAIRS if pair.name in ("write then read, block 1024", "tree reduction")]
LAST = next(place for place, pair in enumerate(HOPPER) if pair.name == "boxes: nobody waits for a load")


def test_plain_kernels_between_those_with_copies_in_the_background(tmp_path: Path) -> None:
    with override(threads=1):
        for pair in HOPPER[LAST % 3 : LAST + 1 : 3]:
            assert not judged(pair, tmp_path, wrong=False).findings
            for other in PLAIN:
                right = judged(other, tmp_path, wrong=False)
                assert not right.findings, "\n\n".join(right.texts)
