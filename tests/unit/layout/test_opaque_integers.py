"""The algebra asks a dynamic integer for no more than its protocol offers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.layouts import compact_layouts, divisor_of, fitting, layouts, values
from tests.support.opaque_integers import OpaqueInt, reveal
from triptych import layout
from triptych.layout import Layout

tl: Any = layout  # typed for dynamic integers too; the tests know which ones are static


def hide(data: st.DataObject, layout: Layout) -> Layout:
    def leaf(value: int) -> Any:
        return OpaqueInt(value) if data.draw(st.booleans()) else value

    return Layout(tl.transform_leaf(leaf, layout.shape), tl.transform_leaf(leaf, layout.stride))


def check(operation: Any, static: list[Any], hidden: list[Any]) -> None:
    """Where every need holds at run time, the result computed at run time is the static one."""
    try:
        expected = operation(*static)
    except tl.LayoutError:
        expected = None
    try:
        with tl.assuming() as needs:
            found = operation(*hidden)
    except (tl.LayoutError, ZeroDivisionError):
        return
    if all(reveal(need.residue) == 0 for need in needs):
        assert expected is not None
        assert values(reveal(found)) == values(expected)


@examples(150)
@given(st.data())
def test_composition(data: st.DataObject) -> None:
    left = data.draw(layouts())
    right = data.draw(fitting(left))
    check(tl.composition, [left, right], [hide(data, left), hide(data, right)])


@examples(150)
@given(st.data())
def test_divide(data: st.DataObject) -> None:
    layout = data.draw(compact_layouts())
    tile = divisor_of(data, tl.size(layout))
    check(tl.logical_divide, [layout, tile], [hide(data, layout), tile])


@examples(150)
@given(st.data())
def test_evaluation(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    index = data.draw(st.integers(0, tl.size(layout) - 1))
    later: Any = OpaqueInt(index)
    assert reveal(hide(data, layout)(later)) == layout(index)


def test_swizzles_take_dynamic_indices() -> None:
    composed = tl.parse("S<3,4,3> o 0 o (64,64):(64,1)")
    assert reveal(composed((OpaqueInt(9), 17))) == composed((9, 17))
