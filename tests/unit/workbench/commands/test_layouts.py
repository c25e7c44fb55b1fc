from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from triptych.layout import Layout, layout_svg
from triptych.workbench.commands.cli import main


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["layout", *arguments]) == 0
    return capsys.readouterr().out


def test_numbers_and_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(["(2,3):(3,1)"], capsys).splitlines()
    assert lines[:2] == ["(2,3):(3,1)", "size 6, cosize 6"]
    assert [line.split("|")[1:-1] for line in lines if line[0].isdigit()] == [
        [" 0 ", " 1 ", " 2 "],
        [" 3 ", " 4 ", " 5 "],
    ]


def test_operations_are_applied_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(["(8,8):(8,1)", "--compose", "(2,2)"], capsys).startswith("(2,2):(8,1)\nsize 4, cosize 10\n")
    assert printed(["8:1", "--divide", "4", "--coalesce"], capsys).startswith("8:1\n")


def test_files_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    svg, latex = tmp_path / "picture.svg", tmp_path / "picture.tex"
    printed(["(2,2):(8,1)", "--svg", str(svg), "--latex", str(latex)], capsys)
    assert svg.read_text(encoding="utf-8") == layout_svg(Layout.parse("(2,2):(8,1)")) + "\n"
    assert "tikzpicture" in latex.read_text(encoding="utf-8")


def test_accesses_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    banks = tmp_path / "banks.svg"
    text = printed(["(32,32):(32,1)", "--access", "32:1@0", "--svg", str(banks)], capsys)
    assert "shared memory: 32-way" in text
    assert "global memory: 32 sectors per request, 12% used" in text
    assert "words per bank: 32-way" in banks.read_text(encoding="utf-8")


def test_json_is_the_same_answer(capsys: pytest.CaptureFixture[str]) -> None:
    record: dict[str, Any] = json.loads(printed(["(2,(2,2)):(4,(1,2))", "--access", "8:1", "--json"], capsys))
    layout = Layout.parse(record["layout"])
    assert (record["size"], record["cosize"]) == (8, 8)
    assert (record["shape"], record["stride"]) == ([2, [2, 2]], [4, [1, 2]])
    assert record["grid"] == [[str(layout((row, column))) for column in range(4)] for row in range(2)]
    assert record["shared memory"]["degree"] == 1


@pytest.mark.parametrize("text", ["8:?", "(?{div=4},8):(1,?)", "S<2,0,3> o 0 o (4,8):(8,1)"])
def test_integers_known_later_and_swizzles_are_shown(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed([text], capsys).startswith(f"{text}\n")
    assert json.loads(printed([text, "--json"], capsys))["layout"] == text


def test_a_mistake_is_explained_without_a_line_of_python(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", "(8,8:(8,1)"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("triptych layout: error: [TT0801] ")
    assert "-->" not in message
