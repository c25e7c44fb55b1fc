"""Knowledge pages say what scripts count now; `triptych knowledge check --update` writes the tables."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from triptych.workbench.commands.cli import main, parser_with_commands
from triptych.workbench.commands.command_line import parsed
from triptych.workbench.commands.documents import found
from triptych.workbench.knowledge.evidence import tables
from triptych.workbench.knowledge.pages import GPU, MEASURED, KnowledgePage, problems, read_pages

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "knowledge"
PAGES = read_pages(FOLDER)
FEWEST = {"optimizations": 14, "anti-patterns": 10}
INTERVAL = re.compile(r"\| \d+\.\d\d \| \d+\.\d\d to \d+\.\d\d \| (faster|slower|same|undecided) \|")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_says_what_is_counted(page: KnowledgePage) -> None:
    assert list(problems(page)) == []
    made = tables(page)
    assert {kind: page.tables[kind] for kind in made} == made


def test_there_are_enough_and_the_list_has_all(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = Counter(page.kind for page in PAGES if not page.language)
    assert all(kinds[kind] >= fewest for kind, fewest in FEWEST.items())
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [
        page.name for page in PAGES if f"[{page.title}]({page.file.relative_to(FOLDER).as_posix()})" not in index
    ] == []
    assert main(["knowledge", "list", "--folder", str(FOLDER)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(PAGES)


@pytest.mark.parametrize("page", [page for page in PAGES if MEASURED in page.tables], ids=lambda page: page.name)
def test_what_is_measured_has_an_interval_and_a_verdict(page: KnowledgePage) -> None:
    assert INTERVAL.search(page.tables[MEASURED])


def test_commands_for_a_gpu_are_commands() -> None:
    """Those of other programs end with one of ours, whose kernels they look at."""
    for page in PAGES:
        for command in re.findall(r"^\| `([^`]+)` \|", page.tables.get(GPU, ""), re.MULTILINE):
            _, ours, words = command.rpartition("triptych ")
            assert ours, command
            parsed(*parser_with_commands(), shlex.split(words))


def test_search_finds_a_page() -> None:
    assert "knowledge/optimizations/swizzle-and-padding.md" in [
        section.page for section in found("padding swizzle pattern")
    ]
