"""What a person reads when something is refused: the place, the caret, the way out."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path

import pytest

from triptych.support.config import override, read
from triptych.support.errors import TriptychError, all_errors, render, snippet
from triptych.support.setting import SettingError
from triptych.support.source import Span


class ExampleError(TriptychError, ValueError):
    """An error of this test."""

    code = "TT9901"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text("x = 1\n\tbad = größe + yield_\n\nlast = (1 +\n        2)\n", encoding="utf-8")
    return str(path)


def caret(lines: list[str]) -> str:
    """The characters of the shown line that stand above the caret."""
    shown, marks = lines[-2].split(" | ", 1)[1], lines[-1].split(" | ", 1)[1]
    return "".join(character for character, mark in zip(shown, marks, strict=False) if mark == "^")


def test_headline_comes_first() -> None:
    assert render("it broke", "TT9900") == "[TT9900] it broke"


def test_facts_follow_in_order_and_empty_ones_are_left_out() -> None:
    text = render("it broke", "TT9900", found="a list", instead="a tuple", notes=["lists change"])
    assert text.splitlines()[1:] == ["  = found: a list", "  = write: a tuple", "  = note: lists change"]


def test_place_is_file_line_column_and_function(file: str) -> None:
    assert snippet(Span(file, 1, 4, function="main"))[0] == f"--> {file}:1:5 in main"


def test_caret_is_under_the_construct(file: str) -> None:
    assert caret(snippet(Span(file, 1, 4, 1, 5))) == "1"


def test_caret_counts_characters_not_bytes_and_expands_tabs(file: str) -> None:
    line = "\tbad = größe + yield_"
    start, end = len(line[: line.index("größe")].encode()), len(line[: line.index(" + ")].encode())
    assert caret(snippet(Span(file, 2, start, 2, end))) == "größe"


def test_caret_of_a_construct_over_several_lines_ends_with_the_first(file: str) -> None:
    assert caret(snippet(Span(file, 4, 7, 5, 10))) == "(1 +"


def test_caret_without_an_end_is_one_wide(file: str) -> None:
    assert caret(snippet(Span(file, 4, 7))) == "("


@pytest.mark.parametrize("line", [3, 99])
def test_place_without_text_shows_only_the_place(file: str, line: int) -> None:
    assert snippet(Span(file, line)) == [f"--> {file}:{line}:1"]


def test_unreadable_file_shows_only_the_place() -> None:
    assert snippet(Span("<gone>", 3)) == ["--> <gone>:3:1"]


def test_related_places_are_labelled(file: str) -> None:
    text = render("types differ", "TT9900", span=Span(file, 1), related=[("other definition", Span(file, 4, 0, 4, 4))])
    assert "= other definition:" in text
    assert text.count("-->") == 2


def test_error_prints_its_code_once_and_keeps_its_facts(file: str) -> None:
    error = ExampleError("it broke", span=Span(file, 1), found="x", expected="y", instead="z")
    assert str(error).count("TT9901") == 1
    assert (error.title, error.found, error.expected, error.instead) == ("it broke", "x", "y", "z")
    assert isinstance(error, ValueError)


def test_all_errors_finds_subclasses_in_code_order() -> None:
    found = all_errors()
    assert ExampleError in found
    assert [error.code for error in found] == sorted(error.code for error in found)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("command", "  = more: triptych errors TT0703"),
        ("https://host/docs/", "  = more: https://host/docs/errors/TT0703.html"),
        ("off", ""),
    ],
)
def test_tracebacks_end_with_the_place_of_the_explanation(place: str, expected: str) -> None:
    with override(error_help=place):
        error = SettingError("no such thing", found="this")
        again = pickle.loads(pickle.dumps(error))
    text = "".join(traceback.format_exception(error))
    assert text.rstrip("\n").endswith(expected or "  = found: this")
    assert "more" not in str(error), "what programs compare and logs keep is the message alone"
    assert "".join(traceback.format_exception(again)) == text


def test_a_wrong_setting_does_not_hide_its_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIPTYCH_ERROR_HELP", "off")
    assert not SettingError("x").more()
    monkeypatch.setenv("TRIPTYCH_ERROR_HELP", "of")
    assert SettingError("x").more() == "  = more: triptych errors TT0703"
    with pytest.raises(SettingError, match="TRIPTYCH_ERROR_HELP"):
        read({"TRIPTYCH_ERROR_HELP": "of"})
