"""Layouts are values: immutable, hashable, picklable, readable."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from triptych import layout
from triptych.layout import ComposedLayout, E, Layout, Ratio, ScaledBasis, Swizzle

tl: Any = layout  # typed for dynamic integers too; the tests know which ones are static

VALUES = [
    Layout((4, (2, 3)), (1, (4, 8))),
    Layout((2, 3), (E(0), 2 * E([1, 0]))),
    ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 8), (8, 1))),
    Swizzle(2, 3, -3),
    E([0, 1]),
    Ratio(2, 4),
    tl.sym_int(64, 8, symbol="n"),
    tl.FastDivmodDivisor(7),
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values_are_immutable_hashable_and_picklable(value: object) -> None:
    copy = pickle.loads(pickle.dumps(value))
    assert copy == value
    assert hash(copy) == hash(value)
    assert {value: "found"}[copy] == "found"
    field = dataclasses.fields(value)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, 0)


@pytest.mark.parametrize(
    "text",
    [
        "4:1",
        "(4):(1)",
        "():()",
        "((2,3),4):((1,2),6)",
        "(2,3):(1@0,2@1@0)",
        "(2,3):(-1,0)",
        "S<3,4,3> o 0 o (8,8):(8,1)",
        "(4,8):(1,4) o (0,0) o (2,2):(1@0,1@1)",
        "(?,8):(?{div=4},?{i64})",
        "8:?{i64 div=16}",
    ],
)
def test_notation_round_trips(text: str) -> None:
    assert str(tl.parse(text)) == text


def test_a_missing_stride_is_compact() -> None:
    assert str(Layout.parse("(4,(2,1),3)")) == "(4,(2,1),3):(1,(4,0),8)"


@pytest.mark.parametrize("text", ["(4,8:(8,1)", "4:", "(4,8):(1)", "S<1,2> o 0 o 4:1", "4:1 x", "?{odd}:1", ""])
def test_bad_notation_is_refused(text: str) -> None:
    with pytest.raises(tl.LayoutError):
        Layout.parse(text)


def test_tiles_have_a_notation() -> None:
    tile = tl.parse("[(4,8):(1,4);_;[2:1;1:1]]")
    assert tile == (Layout((4, 8), (1, 4)), None, (Layout(2, 1), Layout(1, 1)))
    assert tl.tile_text(tile) == "[(4,8):(1,4);_;[2:1;1:1]]"


def test_modes_of_a_layout() -> None:
    layout = Layout.parse("((2,3),4):((1,2),6)")
    assert len(layout) == 2
    assert list(layout) == [Layout((2, 3), (1, 2)), Layout(4, 6)]
    assert layout[0][1] == Layout(3, 2)
    assert repr(layout) == "Layout(((2,3),4):((1,2),6))"


def test_a_coordinate_with_none_is_for_slicing() -> None:
    with pytest.raises(tl.ProfileError, match="slice_"):
        Layout((4, 8), (1, 4))((None, 2))


def test_basis_elements() -> None:
    assert str(2 * E([0, 1])) == "2@1@0"
    assert ScaledBasis(3, 1) == 3 * E(1)  # type: ignore[arg-type]
    assert str(ScaledBasis(Ratio(1, 2), (0,)) * 3) == "3/2@0"
    with pytest.raises(TypeError):
        ScaledBasis(1, (-1,))


def test_ratios() -> None:
    half, quarters = Ratio(1, 2), Ratio(3, 4)
    assert half * quarters == Ratio(3, 8)
    assert 5 * Ratio(2, 3) == Ratio(10, 3)
    assert Ratio(4, 2).is_integral()
    assert Ratio(6, 4).reduced() == Ratio(3, 2)
    assert (Ratio(3, 2).to(float), Ratio(3, 2).to(int), half.to(Ratio)) == (1.5, 1, half)
    with pytest.raises(ZeroDivisionError):
        Ratio(1, 0)


def test_a_swizzle_needs_separate_fields() -> None:
    with pytest.raises(tl.LayoutError, match="overlap"):
        Swizzle(3, 0, 2)


def test_recasting_a_swizzle() -> None:
    composed = ComposedLayout.parse("S<3,4,3> o 0 o (8,64):(64,1)")
    assert str(tl.recast_layout(16, 8, composed)) == "S<3,3,3> o 0 o (8,32):(32,1)"
    with pytest.raises(tl.LayoutError, match="moves parts"):
        tl.recast_layout(8, 4, ComposedLayout.parse("S<3,0,3> o 0 o (8,8):(8,1)"))
