"""`triptych puzzles` in a fresh folder: files, a check that fails and one that passes, hints one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from triptych.workbench.commands import puzzles
from triptych.workbench.commands.cli import main
from triptych.workbench.contracts.loading import load_module
from triptych.workbench.puzzles.all_puzzles import PUZZLES

_GUIDE = Path(__file__).resolve().parents[4] / "docs" / "guides" / "puzzles.md"
_NUMBER = 7
_FILE = Path("puzzles/07_shared_memory.py")


@pytest.fixture(autouse=True)
def _fresh_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["puzzles"]) == 0


def test_all_files_are_copied_and_none_is_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(list(Path("puzzles").glob("*.py"))) == len(PUZZLES)
    _FILE.write_text("mine", encoding="utf-8")
    assert main(["puzzles"]) == 0
    assert _FILE.read_text(encoding="utf-8") == "mine"
    assert f"0 files written to puzzles, {len(PUZZLES)} were there" in capsys.readouterr().out


def test_a_check_says_what_the_guide_shows(capsys: pytest.CaptureFixture[str]) -> None:
    puzzle = PUZZLES[_NUMBER - 1]
    _FILE.write_text(puzzle.filled("out[block * 8 + t] = tile[7 - t]"), encoding="utf-8")
    capsys.readouterr()
    assert main(["puzzles", "check", "7"]) == 1
    said = capsys.readouterr().out
    shown = _GUIDE.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    parts = [part.replace("--> ", f"--> {Path.cwd()}/puzzles/").strip() for part in shown.split("...\n")]
    assert all(part in said for part in parts), said
    assert _result_without_checkers() == [float(i) for i in (*range(7, -1, -1), *range(15, 7, -1))]
    assert Path("puzzles/pictures/07_shared_memory/finding-1-TT0630.svg").is_file()
    _FILE.write_text(puzzle.filled(), encoding="utf-8")
    assert main(["puzzles", "check", "7", "--folder", "puzzles"]) == 0
    assert capsys.readouterr().out == "puzzle 7, 07_shared_memory.py: solved\n"


def _result_without_checkers() -> list[float]:
    out = np.zeros(16, np.float32)
    load_module(_FILE.resolve(), "a_puzzle").solve(np.arange(16, dtype=np.float32), out)
    return [float(each) for each in out]


def test_guide_has_a_row_for_each_puzzle() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", _GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, len(PUZZLES) + 1))
    for (_, words), puzzle in zip(rows, PUZZLES, strict=True):
        assert set(re.findall(r"[a-z]+", words.lower())) & set(puzzle.name.split("_")), puzzle.name


def test_hints_come_one_at_a_time_and_the_last_one_stays(capsys: pytest.CaptureFixture[str]) -> None:
    hints = PUZZLES[_NUMBER - 1].all_hints
    capsys.readouterr()
    for turn in (*range(len(hints)), len(hints) - 1):
        assert main(["puzzles", "hint", "7"]) == 0
        assert capsys.readouterr().out == f"hint {turn + 1} of {len(hints)}: {hints[turn]}\n"


def test_last_hint_is_the_solution_as_one_writes_it() -> None:
    assert PUZZLES[8].all_hints[-1] == (
        "write:\n    cute.arch.sync_threads()\n    if i < half:\n        tile[i] += tile[i + half]"
    )
    assert PUZZLES[7].all_hints[-1] == "write:\n    i >= step\n    tile[i - step]"


def test_a_kernel_that_does_not_end_is_a_hang(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _FILE.write_text("while True:\n    pass\n", encoding="utf-8")
    monkeypatch.setattr(puzzles, "_PATIENCE", 0.5)
    capsys.readouterr()
    assert main(["puzzles", "check", "7"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("puzzle 7, 07_shared_memory.py: hang: it took longer than 0.5 s"), said


@pytest.mark.parametrize("arguments", [["hint"], ["check", "99"], ["check", "1", "--folder", "elsewhere"]])
def test_a_request_that_cannot_be_met(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["puzzles", *arguments]) == 2
    assert "triptych puzzles: error: [TT0725]" in capsys.readouterr().err


def test_without_a_number_the_first_that_is_not_solved_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["puzzles", "check"]) == 1
    assert capsys.readouterr().out.startswith("puzzle 1, 01_map.py: hole: line ")
