"""Pipelines whose stages are not taken and given on once each, where no harm comes of it."""

from __future__ import annotations

from pathlib import Path

from tests.checkers.misuse_pairs import ALL, HARMLESS
from tests.checkers.pairs import judged


def test_what_nothing_came_of_is_kept_for_hints(tmp_path: Path) -> None:
    pair, *_ = (each for each in ALL if each.name == "PipelineAsync: acquire twice")
    assert pair.name in HARMLESS
    verdict = judged(pair, tmp_path, wrong=True)
    assert not verdict.findings
    assert [each.text for each in verdict.misused] == [
        "one `producer_acquire` for each stage, not two: stage 0 of the PipelineAsync is acquired twice, at line 22"
    ]
