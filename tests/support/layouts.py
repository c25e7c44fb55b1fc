"""Random hierarchical layouts, and their values.

Input: Hypothesis draws. Output: layouts small enough to be evaluated everywhere.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from triptych import layout
from triptych.layout import Layout
from triptych.layout.tuples import flat

tl: Any = layout  # typed for dynamic integers too; the tests know which ones are static

LARGEST = 256


def values(layout: Any) -> list[Any]:
    """A layout evaluated on its whole domain."""
    return [layout(i) for i in range(tl.size(layout))]


def nested(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(leaf, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=5)


extents = st.sampled_from([1, 2, 2, 3, 4, 4, 5, 6, 8])
any_stride = st.sampled_from([0, 1, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32])
shapes = nested(extents).filter(lambda shape: tl.product(shape) <= LARGEST)


@st.composite
def layouts(draw: st.DrawFn, strides: st.SearchStrategy[int] | None = None) -> Layout:
    """Any layout: strides are drawn freely, so most are neither injective nor compact."""
    shape = draw(shapes)
    free = any_stride if strides is None else strides
    return Layout(shape, tl.transform_leaf(lambda _: draw(free), shape))


@st.composite
def compact_layouts(draw: st.DrawFn, padding: bool = True) -> Layout:
    """An injective layout: modes in any order, with gaps in between when padding is allowed."""
    shape = draw(shapes)
    leaves = flat(shape)
    strides: dict[int, int] = {}
    step = 1
    for place in draw(st.permutations(range(len(leaves)))):
        if padding:
            step *= draw(st.sampled_from([1, 1, 1, 2, 3]))
        strides[place] = step
        step *= leaves[place]
    places = iter(range(len(leaves)))
    return Layout(shape, tl.transform_leaf(lambda _: strides[next(places)], shape))


@st.composite
def fitting(draw: st.DrawFn, left: Layout) -> Layout:
    """A right operand that often composes: its strides are products of leading extents of the left one."""
    places = [1]
    for extent in flat(left.shape):
        places.append(places[-1] * extent)
    steps = st.builds(lambda place, factor: place * factor, st.sampled_from(places), st.sampled_from([1, 1, 2, 3]))
    return draw(layouts(strides=steps))


def gaps_filled(layout: Layout) -> bool:
    """Whether the strides divide each other, so that nothing is lost between modes."""
    moves = sorted((d, s) for s, d in zip(flat(layout.shape), flat(layout.stride), strict=True) if s > 1)
    reached = 1
    for step, extent in moves:
        if step % reached:
            return False
        reached = step * extent
    return True


def divisor_of(data: st.DataObject, number: int) -> int:
    return data.draw(st.sampled_from([n for n in range(1, number + 1) if number % n == 0]))
