"""The guide to writing a language shows the example, not something like it."""

from __future__ import annotations

import re

from tests.docs.test_snippets import ROOT, blocks

GUIDE = ROOT / "docs" / "guides" / "write-your-own-dsl.md"
EXAMPLE = (ROOT / "examples" / "tiny_dsl.py").read_text(encoding="utf-8")


def definitions(text: str) -> list[str]:
    """Top-level statements: what starts at the left margin, with the indented lines below it."""
    pieces = re.split(r"\n(?=[^\s)\]}#])", text.strip())
    return [piece.strip() for piece in pieces if not piece.startswith(("#", '"""'))]


def test_every_definition_of_the_example_is_in_the_guide() -> None:
    code = "\n".join(block.code for block in blocks(GUIDE))
    shown = EXAMPLE.partition('"""\n\n')[2].partition("\n\nif __name__")[0]
    without_titles = re.sub(r"^# the .*\n", "", shown, flags=re.MULTILINE)
    assert [piece for piece in definitions(without_titles) if piece not in code] == []


def test_the_guide_says_how_long_the_example_is() -> None:
    lines = EXAMPLE.count("\n")
    assert f"{lines} lines" in GUIDE.read_text(encoding="utf-8")
