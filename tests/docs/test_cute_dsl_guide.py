"""The names that the guide for CuTe DSL programs says are missing are those that the census leaves out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conformance.test_api_census import LEFT_OUT

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "from-cute-dsl.md"
PLACE = re.compile(r"(?<=test_cute_dsl_guide.py -->\n)(.*?)(?=<!-- end of the list -->)", re.DOTALL)


def left_out() -> str:
    """The names by the reason why they are missing, as Markdown."""
    reasons = dict.fromkeys(LEFT_OUT.values())
    rows = [(reason, [f"`{name}`" for name, given in LEFT_OUT.items() if given == reason]) for reason in reasons]
    return "\n".join(["| names | reason |", "|---|---|", *(f"| {', '.join(names)} | {why} |" for why, names in rows)])


def test_the_page_lists_them(pytestconfig: pytest.Config) -> None:
    shown = f"\n{left_out()}\n\n"
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(PLACE.sub(lambda _: shown, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    assert PLACE.findall(PAGE.read_text(encoding="utf-8")) == [shown], "run pytest tests/docs --update-golden"
