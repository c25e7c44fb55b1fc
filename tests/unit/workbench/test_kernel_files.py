"""A kernel file that is not there, or is none: the same words from every command."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from triptych.workbench.commands import profile, tune
from triptych.workbench.commands.cli import main
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.errors import ContractError
from triptych.workbench.kernel_files import kernel_file

COMMANDS = [load_contract, kernel_file, partial(kernel_file, expected="a Python file with TUNE")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "softmax.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("words", encoding="utf-8")
    (tmp_path / "relu").mkdir()
    (tmp_path / "relu" / "relu.py").write_text("", encoding="utf-8")
    (tmp_path / "relu" / "other.py").write_text("", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize("load", COMMANDS)
@pytest.mark.parametrize(
    ("name", "title", "instead"),
    [
        ("softmx.py", "there is no kernel file", "softmax.py"),
        ("nothing_like_it.py", "there is no kernel file", ""),
        ("nowhere/softmax.py", "there is no kernel file", ""),
        ("notes.txt", "is no Python file", ""),
        ("relu", "is a folder and no kernel file", "relu/relu.py"),
        ("empty", "is a folder and no kernel file", ""),
    ],
)
def test_what_it_would_be(load: Callable[[str], object], name: str, title: str, instead: str, folder: Path) -> None:
    with pytest.raises(ContractError, match=title) as raised:
        load(str(folder / name))
    assert raised.value.expected.startswith("a Python file with")
    assert raised.value.instead == (f"did you mean '{folder / instead}'?" if instead else "")


def test_one_that_is_there(folder: Path) -> None:
    assert kernel_file(folder / "softmax.py") == folder / "softmax.py"


@pytest.mark.parametrize("command", [profile, tune])
def test_commands_say_it_before_they_start_a_process(
    command: object, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "ask", None)
    name = command.__name__.rpartition(".")[2]  # type: ignore[attr-defined]
    assert main([name, str(folder / "softmx.py")]) == 2
    assert "softmax.py'?" in capsys.readouterr().err
