"""Every solution passes, every hole is told, and three wrong answers to each puzzle get a message with the mistake."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from triptych.workbench.puzzles.all_puzzles import PUZZLES
from triptych.workbench.puzzles.judging import Verdict, judge
from triptych.workbench.puzzles.puzzle import Puzzle

_WRONG = Path(__file__).with_name("wrong_answers")
_LINES = 40
"""Of a file that a user reads, at most."""
every_puzzle = pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda puzzle: puzzle.name)


def verdict_on(puzzle: Puzzle, text: str, folder: Path) -> Verdict:
    file = folder / f"{puzzle.name}.py"
    file.write_text(text, encoding="utf-8")
    return judge(puzzle, file)


@every_puzzle
def test_solution_passes_and_hole_is_told(puzzle: Puzzle, tmp_path: Path) -> None:
    assert verdict_on(puzzle, puzzle.filled(), tmp_path) == Verdict()
    unfilled = verdict_on(puzzle, puzzle.with_hole, tmp_path)
    first = puzzle.text[: puzzle.text.index("«")].count("\n") + 1
    assert unfilled.mistake == "hole"
    assert unfilled.message.startswith((f"line {first} ", f"lines {first} "))
    assert len(puzzle.with_hole.splitlines()) <= _LINES


@every_puzzle
def test_wrong_answers_get_the_name_of_the_mistake(puzzle: Puzzle, tmp_path: Path) -> None:
    wrong = tomllib.loads((_WRONG / f"{puzzle.name}.toml").read_text(encoding="utf-8"))["wrong"]
    assert len(wrong) == 3
    for answer in wrong:
        verdict = verdict_on(puzzle, puzzle.filled(*answer["answers"]), tmp_path)
        assert (verdict.mistake, bool(re.search(answer["says"], verdict.message))) == (answer["mistake"], True), verdict
        assert "\n" not in verdict.message
        assert verdict.mistake == "error" or verdict.details or verdict.picture or verdict.files
