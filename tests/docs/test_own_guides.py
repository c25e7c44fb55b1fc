"""The guides to writing a language and a target show their examples, not something like them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_snippets import ROOT, blocks

GUIDES = {"write-your-own-dsl": "tiny_dsl", "own-target": "serial_target"}


def page(guide: str) -> Path:
    return ROOT / "docs" / "guides" / f"{guide}.md"


def example(guide: str) -> str:
    return (ROOT / "examples" / f"{GUIDES[guide]}.py").read_text(encoding="utf-8")


def definitions(text: str) -> list[str]:
    """Top-level statements: what starts at the left margin, with the indented lines below it."""
    pieces = re.split(r"\n(?=[^\s)\]}#])", text.strip())
    return [piece.strip() for piece in pieces if not piece.startswith(("#", '"""'))]


@pytest.mark.parametrize("guide", GUIDES)
def test_every_definition_of_the_example_is_in_the_guide(guide: str) -> None:
    code = "\n".join(block.code for block in blocks(page(guide)))
    shown = example(guide).partition('"""\n\n')[2].partition("\n\nif __name__")[0]
    without_titles = re.sub(r"^# the .*\n", "", shown, flags=re.MULTILINE)
    assert [piece for piece in definitions(without_titles) if piece not in code] == []


@pytest.mark.parametrize("guide", GUIDES)
def test_the_guide_says_how_long_the_example_is(guide: str) -> None:
    assert f"{example(guide).count(chr(10))} lines" in page(guide).read_text(encoding="utf-8")
