"""The tables of the guide are those that the laws measure, and they name every function."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.math_table import math_tables
from triptych.cute import math as cute_math

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "mathematics.md"
PLACE = re.compile(r"(?<=test_math_table.py -->\n)(.*?)(?=<!-- end of the tables -->)", re.DOTALL)


def test_the_page_shows_the_tables(pytestconfig: pytest.Config) -> None:
    tables = f"\n{math_tables()}\n\n"
    text = PAGE.read_text(encoding="utf-8")
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(PLACE.sub(lambda _: tables, text), encoding="utf-8")
    (shown,) = PLACE.findall(PAGE.read_text(encoding="utf-8"))
    assert shown == tables, "run pytest tests/docs --update-golden"


def test_every_function_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in cute_math.__all__ if f"`{name}`" not in text] == []
