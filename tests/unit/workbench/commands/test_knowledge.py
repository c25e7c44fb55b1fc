"""`triptych knowledge`: a new page passes once its table is written, and what changes afterwards is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triptych.workbench.commands.cli import main

_PAGE = Path("docs/knowledge/languages/cute-dsl/anti-patterns/lost-phase.md")


@pytest.fixture(autouse=True)
def _fresh_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _new() -> int:
    return main(["knowledge", "new", "lost-phase", "--kind", "anti-patterns", "--language", "cute-dsl"])


def test_a_page_from_its_template_to_a_fault_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert _new() == 0
    assert main(["knowledge", "check"]) == 1
    assert "what is counted differs from its table" in capsys.readouterr().out
    assert main(["knowledge", "check", "--update"]) == 0
    assert "| as it is | 40 | 8 | 32 |" in _PAGE.read_text(encoding="utf-8")
    assert main(["knowledge", "check", "lost-phase"]) == 0
    capsys.readouterr()

    _PAGE.write_text(_PAGE.read_text(encoding="utf-8").replace("| 40 |", "| 41 |"), encoding="utf-8")
    assert main(["knowledge", "check", "--json"]) == 1
    (said,) = json.loads(capsys.readouterr().out).values()
    assert len(said) == 1
    assert said[0].endswith("| as it is | 40 | 8 | 32 |")


def test_a_page_that_is_there_stays(capsys: pytest.CaptureFixture[str]) -> None:
    assert _new() == 0
    _PAGE.write_text("mine", encoding="utf-8")
    assert _new() == 2
    assert _PAGE.read_text(encoding="utf-8") == "mine"
    assert "is there already" in capsys.readouterr().err


def test_names_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knowledge", "new", "Lost phase"]) == 2
    assert "small letters and hyphens" in capsys.readouterr().err
    assert main(["knowledge", "check", "swizle-and-padding"]) == 2
    assert "did you mean 'swizzle-and-padding'?" in capsys.readouterr().err


def test_pages_of_this_version_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knowledge", "list"]) == 0
    assert "swizzle-and-padding" in capsys.readouterr().out
    assert main(["knowledge", "list", "--json"]) == 0
    pages = {page["name"]: page for page in json.loads(capsys.readouterr().out)}
    assert pages["swizzle-and-padding"]["evidence"] == ["counted", "needs a GPU"]
    assert pages["one-barrier-in-a-loop"]["kind"] == "anti-patterns"


def test_the_list_in_the_folder_follows_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert _new() == 0
    index = Path("docs/knowledge/README.md")
    index.write_text("# All\n\n<!-- list of pages -->\n<!-- end of the list -->\n", encoding="utf-8")
    assert main(["knowledge", "check", "--update"]) == 0
    row = "| [Lost phase](languages/cute-dsl/anti-patterns/lost-phase.md) | cute-dsl anti-patterns | counted |"
    assert row in index.read_text(encoding="utf-8")
    index.write_text(index.read_text(encoding="utf-8").replace("Lost phase", "Found"), encoding="utf-8")
    assert main(["knowledge", "check"]) == 1
    assert "its list differs from the pages" in capsys.readouterr().out
