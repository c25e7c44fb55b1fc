"""Registers that a thread has not set: what does not matter is not told; `triptych.simt.unset_registers`, and the pass
`triptych.targets.cpu.passes.register_shadows` with `triptych.targets.cpu.passes.unset_origins`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkers.pairs import Pair, judged
from tests.checkers.register_pairs import ACCUMULATORS, QUIET, REGISTERS


@pytest.mark.parametrize("pair", QUIET, ids=lambda pair: pair.name)
def test_what_does_not_matter_is_not_told(pair: Pair, tmp_path: Path) -> None:
    right = judged(pair, tmp_path, wrong=False)
    assert not right.texts, "\n\n".join(right.texts)


def test_a_report_names_the_tensor_the_element_and_what_to_write(tmp_path: Path) -> None:
    (text,) = judged(ACCUMULATORS[0], tmp_path, wrong=True).texts
    assert "`c.fill(0)` before the first `gemm`" in text
    assert "element 0 at ((0, 0), 0, 0) of a tensor" in text


def test_there_are_enough_pairs() -> None:
    assert len(REGISTERS) + len(ACCUMULATORS) >= 16
