"""The promotion table of the guide is the one that the compiler uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.promotion_table import SHOWN, promotion_table
from triptych.metastage.values import promotion

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "number-types.md"
PLACE = re.compile(r"(?<=test_promotion_table.py -->\n)(.*?)(?=<!-- end of the promotion table -->)", re.DOTALL)


def test_the_page_shows_the_table(pytestconfig: pytest.Config) -> None:
    table = f"\n{promotion_table()}\n\n"
    text = PAGE.read_text(encoding="utf-8")
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(PLACE.sub(lambda _: table, text), encoding="utf-8")
    (shown,) = PLACE.findall(PAGE.read_text(encoding="utf-8"))
    assert shown == table, "run pytest tests/docs --update-golden"


def test_every_type_is_listed_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in promotion.TYPES if f"`{name}`" not in text] == []


def test_the_table_shows_every_kind() -> None:
    assert {promotion.TYPES[name].kind for name in SHOWN} == {info.kind for info in promotion.TYPES.values()}
