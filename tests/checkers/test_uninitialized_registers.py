"""Registers that a thread has not set: what does not matter is not told; `uninitialized_registers`, and the pass
`triptych.targets.cpu.sanitizer.initcheck_shadow` with `triptych.targets.cpu.sanitizer.initcheck_origins`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.checkers.pairs import Pair, judged
from tests.checkers.register_pairs import ACCUMULATORS, QUIET, REGISTERS
from triptych.sanitizer.checkers import DEFAULT


@pytest.mark.parametrize("words", ["", DEFAULT])
@pytest.mark.parametrize("pair", QUIET, ids=lambda pair: pair.name)
def test_what_does_not_matter_is_not_reported(pair: Pair, words: str, tmp_path: Path) -> None:
    right = judged(replace(pair, words=words or pair.words), tmp_path, wrong=False)
    assert not right.texts, "\n\n".join(right.texts)


@pytest.mark.parametrize("pair", [*REGISTERS[:2], ACCUMULATORS[0]], ids=lambda pair: pair.name)
def test_tests_of_bounds_do_not_hide_registers(pair: Pair, tmp_path: Path) -> None:
    """They take the number of an address, and only compare it."""
    assert judged(replace(pair, words=DEFAULT), tmp_path, wrong=True).texts


def test_a_report_names_the_tensor_the_element_and_what_to_write(tmp_path: Path) -> None:
    (text,) = judged(ACCUMULATORS[0], tmp_path, wrong=True).texts
    assert "`c.fill(0)` before the first `gemm`" in text
    assert "element 0 at ((0, 0), 0, 0) of a tensor" in text


def test_there_are_enough_pairs() -> None:
    assert len(REGISTERS) + len(ACCUMULATORS) >= 16
