"""Columns lose nothing and stay within their width."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triptych.workbench.commands.show import NARROWEST_COLUMN, SEPARATOR, beside

CODE = st.text(st.sampled_from("ab (=)\n"), max_size=400)
WIDE = 2 * NARROWEST_COLUMN + len(SEPARATOR)


def without_layout(text: str) -> str:
    return "".join(text.split())


@given(CODE, CODE, st.integers(WIDE, WIDE + 60))
def test_columns_keep_every_character_and_fit(left: str, right: str, width: int) -> None:
    rows = beside(("left", left), ("right", right), width).splitlines()
    assert all(len(row) <= width for row in rows)
    halves = [row.partition(SEPARATOR.rstrip()) for row in rows[1:]]
    assert without_layout("".join(half[0] for half in halves)) == without_layout(left)
    assert without_layout("".join(half[2] for half in halves)) == without_layout(right)


def test_narrow_terminal_gets_one_under_the_other() -> None:
    text = beside(("source", "a = 1\n"), ("mlir", "arith.constant"), WIDE - 1)
    assert SEPARATOR.strip() not in text
    assert text.index("a = 1") < text.index("arith.constant")


def test_short_source_leaves_the_room_to_the_other_side() -> None:
    row = beside(("source", "a"), ("llvm", "b"), 200).splitlines()[1]
    assert row.index(SEPARATOR.rstrip()) == NARROWEST_COLUMN
