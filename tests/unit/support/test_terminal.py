"""Colours: only where a terminal shows an error that ended the program, and never in its text."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import triptych
from triptych.support.config import has_colours
from triptych.support.errors import TriptychError
from triptych.support.source import Span

PROGRAM = """
import triptych as tt

@tt.jit
def f(n: tt.Int32):
    return [1, 2][n]

{call}
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("set_to", "terminal", "file"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_conventions(variables: pytest.MonkeyPatch, set_to: dict[str, str], terminal: bool, file: bool) -> None:
    for name, value in set_to.items():
        variables.setenv(name, value)
    assert (has_colours(Terminal()), has_colours(io.StringIO())) == (terminal, file)


def test_colours_add_nothing_but_colours() -> None:
    error = TriptychError(
        "it broke", span=Span(__file__, 1, 3, 1, 9), found="x", expected="y", instead="z", notes=["why"]
    )
    assert "\033" not in str(error)
    coloured = error.text(colours=True)
    assert coloured.count("\033[0m") >= 6
    assert re.sub(r"\033\[[\d;]*m", "", coloured) == str(error)


def shown(folder: Path, call: str, **variables: str) -> str:
    """What a script that ends by an error writes to stderr."""
    file = folder / "script.py"
    file.write_text(PROGRAM.format(call=call), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"PYTHONPATH": str(Path(triptych.__file__).parents[1]), **variables}
    command = [sys.executable, str(file)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stderr


def test_a_script_shows_its_error_in_colours_where_they_are_wanted(tmp_path: Path) -> None:
    plain, coloured = (shown(tmp_path, "f(2)", **chosen) for chosen in ({}, {"FORCE_COLOR": "1", "PYTHON_COLORS": "0"}))
    assert "\033" not in plain
    assert "\033" in coloured
    assert re.sub(r"\033\[[\d;]*m", "", coloured) == plain


def test_a_hook_of_someone_else_stays(tmp_path: Path) -> None:
    call = "import sys\nsys.excepthook = lambda kind, error, trace: print('mine', file=sys.stderr)\nf(2)"
    assert shown(tmp_path, call, FORCE_COLOR="1") == "mine\n"
