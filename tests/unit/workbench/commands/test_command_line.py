"""Command lines that are almost right: what was likely meant, and no number that makes a command do nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from triptych.workbench.commands.cli import main
from triptych.workbench.commands.workbench import WORKBENCH


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["verfy", "k.py"], "did you mean 'verify'?"),
        (["verify", "k.py", "--sedes", "3"], "there is no option --sedes; did you mean '--seeds'?"),
        (["verify", "k.py", "--sedes=3"], "there is no option --sedes; did you mean '--seeds'?"),
        (["verify", "k.py", "--nothing-like-it"], "there is no option --nothing-like-it\n"),
        (["verify", "k.py", "other.py"], "one argument too many: other.py"),
        (["tune", "k.py", "--search", "halvin"], "did you mean 'halving'?"),
        (["verify", "k.py", "--seeds", "0"], "0 is too few: at least 1"),
        (["verify", "k.py", "--seeds", "-2"], "-2 is too few: at least 1"),
        (["verify", "k.py", "--rtol", "nan"], "nan is too few: at least 0"),
        (["verify", "k.py", "--timeout", "0"], "0 is no time"),
        (["bench", "k.py", "--seconds", "nan"], "nan is no time"),
        (["profile", "k.py", "--calls", "0"], "0 is too few: at least 1"),
        (["check", "k.py", "--schedules", "-1"], "-1 is too few: at least 0"),
        (["tune", "k.py", "-j", "0"], "0 is too few: at least 1"),
        (["verify", "k.py", "--seeds", "many"], "invalid count value: 'many'"),
        (["import"], "the following arguments are required: EXAMPLE.py\n"),
    ],
)
def test_requests_that_mean_nothing(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("exmple.py", "example.py'?"),
        ("notes.txt", "is no Python file and no example"),
        ("folder", "is a folder and no example"),
        ("empty.py", "has nothing of a kernel"),
    ],
)
def test_import_of_no_example(name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is made of it."""
    for file in ("example.py", "notes.txt", "empty.py"):
        (tmp_path / file).write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    made = tmp_path / "root"
    assert main(["import", str(tmp_path / name), "--root", str(made)]) == 2
    assert said in capsys.readouterr().err
    assert not made.exists()


def test_check_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == 2
    assert "is a folder and no file" in capsys.readouterr().err


def test_ctrl_c_is_no_error_of_the_framework(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setitem(WORKBENCH, "devices", interrupted)
    assert main(["devices"]) == 130
    assert capsys.readouterr().err == "triptych devices: interrupted\n"


def test_what_cannot_be_written_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As root everything is writable, but no folder is inside a file."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["new", "soft", "--root", str(tmp_path / "file")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("triptych new: error: [Errno ")
    assert len(said.splitlines()) == 1


def test_an_exit_of_the_program_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    assert main(["check", str(tmp_path / "exits.py")]) == 1
    assert "ended by sys.exit(3)" in capsys.readouterr().out
