"""Pictures show what the layout says, and memory numbers are the known ones."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from triptych import layout
from triptych.layout import E, Layout

tl: Any = layout  # typed for dynamic integers too; the tests know which ones are static

COLUMN, ROW = Layout(32, E(0)), Layout(32, E(1))
TILES = {
    "plain": ("(32,32):(32,1)", 32),
    "padded": ("(32,32):(33,1)", 1),
    "swizzled": ("S<5,0,5> o 0 o (32,32):(32,1)", 1),
}


def notes(svg: str) -> list[str]:
    space = "{http://www.w3.org/2000/svg}"
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{space}title")]


def test_text_grid() -> None:
    assert tl.draw_text(tl.index_grid(Layout.parse("(2,3):(3,1)"))) == (
        "     0   1   2\n  +---+---+---+\n0 | 0 | 1 | 2 |\n  +---+---+---+\n1 | 3 | 4 | 5 |\n  +---+---+---+"
    ).replace("     0   1   2", "    0   1   2")


def test_svg_tells_every_coordinate() -> None:
    layout = Layout.parse("(2,(2,2)):(1,(4,2))")
    found = notes(tl.layout_svg(layout))
    expected = {f"{tl.text(tl.idx2crd(i, layout.shape))} → {layout(i)}" for i in range(8)}
    assert set(found) == expected
    assert layout._repr_svg_() == tl.layout_svg(layout)


def test_notebooks_do_not_draw_what_is_dynamic_or_huge() -> None:
    assert Layout.parse("(?,4):(4,1)")._repr_svg_() is None
    assert Layout.parse("(4,4):(?,1)")._repr_svg_() is None
    assert tl.make_layout((1000, 1000))._repr_svg_() is None
    assert tl.parse("S<2,0,2> o 0 o (4,4):(4,1)")._repr_svg_() is not None


def test_rank_one_is_a_row_and_more_modes_are_columns() -> None:
    assert (tl.index_grid(Layout(5, 2)).rows, tl.index_grid(Layout(5, 2)).columns) == (1, 5)
    grid = tl.index_grid(tl.make_layout((2, 3, 4)))
    assert (grid.rows, grid.columns) == (2, 12)
    assert grid.cells[1][3].label == "7"


def test_coordinates_can_be_drawn() -> None:
    grid = tl.index_grid(tl.make_identity_layout((2, 2)))
    assert [[cell.label for cell in row] for row in grid.cells] == [["(0,0)", "(0,1)"], ["(1,0)", "(1,1)"]]


def test_thread_values_are_coloured_by_thread() -> None:
    tiler, tv = tl.make_layout_tv(Layout.parse("(2,2):(2,1)"), Layout.parse("(2,1):(1,1)"))
    grid = tl.thread_value_grid(tv, tiler)
    labels = [[cell.label for cell in row] for row in grid.cells]
    assert labels == [["T0 V0", "T1 V0"], ["T0 V1", "T1 V1"], ["T2 V0", "T3 V0"], ["T2 V1", "T3 V1"]]
    colours = {cell.label.split()[0]: cell.colour for row in grid.cells for cell in row}
    assert len(set(colours.values())) == 4
    assert "value 1 of thread 3" in tl.thread_value_svg(tv, tiler)


def test_latex_has_a_node_for_every_cell_and_number() -> None:
    latex = tl.draw_latex(tl.index_grid(Layout.parse("(2,3):(3,1)")))
    assert latex.count(r"\node") == 2 * 3 + 2 + 3
    assert r"\begin{tikzpicture}" in latex


def test_swizzle_picture_shows_before_and_after() -> None:
    svg = tl.swizzle_svg(tl.parse("S<1,0,1> o 0 o (2,2):(2,1)"))
    assert notes(svg) == [
        "(0,0) → 0", "(0,1) → 1", "(1,0) → 2", "(1,1) → 3",
        "(0,0) → 0", "(0,1) → 1", "(1,0) → 3", "(1,1) → 2",
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "ways"), TILES.values(), ids=TILES)
def test_reading_a_column_of_a_float_tile(text: str, ways: int) -> None:
    conflicts = tl.bank_conflicts(tl.parse(text), COLUMN)
    assert conflicts.degree == ways
    assert conflicts.passes == ways
    assert sorted(conflicts.by_bank) == ([0] * 31 + [32] if ways == 32 else [1] * 32)
    assert tl.bank_conflicts(tl.parse(text), ROW).degree == 1


@pytest.mark.parametrize(("text", "ways"), TILES.values(), ids=TILES)
def test_bank_pictures_carry_their_number(text: str, ways: int) -> None:
    svg = tl.bank_svg(tl.parse(text), COLUMN)
    assert f"{ways}-way" in svg
    assert svg.count('stroke-width="3"') == 32


def test_threads_that_share_a_word_do_not_conflict() -> None:
    assert tl.bank_conflicts(Layout(32, 1), Layout(32, 0)).degree == 1
    assert tl.bank_conflicts(Layout(64, 1), Layout(32, 1), bits=16).degree == 1
    assert tl.bank_conflicts(Layout(64, 1), Layout(32, 2)).degree == 2


def test_vector_accesses_go_in_phases() -> None:
    vectors = Layout((32, 4), (4 * E(0), E(0)))
    conflicts = tl.bank_conflicts(Layout((128,), (1,)), vectors)
    assert (conflicts.degree, conflicts.phases) == (1, 4)
    rows = Layout((8, 4), (E(0), E(1)))
    assert tl.bank_conflicts(tl.parse("(8,32):(32,1)"), rows).degree == 8
    assert tl.bank_conflicts(tl.parse("S<3,2,3> o 0 o (8,32):(32,1)"), rows).degree == 1
    with pytest.raises(tl.LayoutError, match="next to each other"):
        tl.bank_conflicts(Layout(128, 1), Layout((32, 2), (1, 32)))


def test_global_sectors() -> None:
    tile = tl.parse("(32,32):(32,1)")
    along, across = tl.global_sectors(tile, ROW), tl.global_sectors(tile, COLUMN)
    assert (along.per_request, along.efficiency) == (4, 1)
    assert (across.per_request, across.efficiency) == (32, 0.125)
    two_warps = tl.global_sectors(Layout(64, 1), Layout(64, 1))
    assert (two_warps.requests, two_warps.sectors) == (2, 8)
    assert tl.global_sectors(Layout(65, 1), Layout(32, 1), bits=8).sectors == 1
