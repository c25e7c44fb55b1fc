"""`triptych.workbench.commands.checked_program`: outputs that a kernel file names and its kernel leaves alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from triptych.sanitizer.finding_errors import error_of
from triptych.sanitizer.findings import collecting
from triptych.support.config import override
from triptych.workbench.commands.checked_program import run_and_watch


def _texts(count: int, words: str = "init") -> list[str]:
    def kernel(x: np.ndarray, out: np.ndarray) -> None:
        out.reshape(-1)[:count] = x.reshape(-1)[:count]

    def inputs(_seed: int, _case: object) -> list[np.ndarray]:
        return [np.full((4, 8), 0xA5, np.uint8), np.zeros((4, 8), np.uint8)]

    contract = SimpleNamespace(kernel=kernel, written=frozenset({1}), inputs=inputs)
    with override(debug=words), collecting() as collection:
        run_and_watch(contract, "default", {})
    assert not collection.faults
    return [error_of(each).text() for each in collection.findings]


def test_elements_that_nobody_wrote_are_a_note() -> None:
    (text,) = _texts(20)
    assert "12 of 32 elements of out" in text
    assert "the first at (2, 4), the last at (3, 7)" in text


def test_a_value_that_looks_like_the_mark_is_no_note() -> None:
    assert not _texts(32)


def test_only_with_init() -> None:
    assert not _texts(20, "bounds")
