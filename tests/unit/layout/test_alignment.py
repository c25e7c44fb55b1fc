"""How many neighbours can be moved at once."""

from __future__ import annotations

import itertools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.layout import Layout


@pytest.mark.parametrize(
    ("layout", "alignment"),
    [
        ("8:1", 8),
        ("(4,8):(8,1)", 32),
        ("(6,2):(1,8)", 2),
        ("(8,4):(1,12)", 4),
        ("4:2", 1),
        ("(4,4):(0,1)", 4),
        ("1:0", 1),
        ("?:1", 1),
        ("?{div=16}:1", 16),
        ("(?{div=16},8):(1,64)", 16),
        ("(?,8):(?{div=4},1)", 4),
    ],
)
def test_alignment(layout: str, alignment: int) -> None:
    assert Layout.parse(layout).max_alignment == alignment


modes = st.lists(
    st.tuples(st.integers(1, 6), st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12, 16, 24])), min_size=1, max_size=3
)


@given(modes)
def test_indices_come_in_groups(parts: list[tuple[int, int]]) -> None:
    coordinates = itertools.product(*(range(extent) for extent, _ in parts))
    steps = tuple(step for _, step in parts)
    indices = {sum(map(operator.mul, coordinate, steps)) for coordinate in coordinates}
    width = Layout(tuple(extent for extent, _ in parts), steps).max_alignment
    assert indices == {index // width * width + i for index in indices for i in range(width)}
