"""All indices of a layout at once are the indices one by one."""

from __future__ import annotations

from typing import Any

import pytest

from triptych.layout import Layout, crd2idx, size, sym_int
from triptych.layout.coordinates import all_indices, every_index


@pytest.mark.parametrize(
    ("shape", "stride"), [(4, 3), ((2, 3), (1, 2)), (((2, 2), 3), ((6, 1), 2)), ((2, 3), (0, -5)), ((), ())]
)
def test_all_indices_at_once(shape: Any, stride: Any) -> None:
    layout = Layout(shape, stride)
    count = size(layout)
    assert isinstance(count, int)
    assert list(all_indices(shape, stride)) == [crd2idx(i, layout) for i in range(count)]


@pytest.mark.parametrize("shape", [(4, 2), ((2, 2), 3), 5])
def test_strides_of_the_run(shape: Any) -> None:
    n = sym_int(divisibility=2)
    stride: Any = {(4, 2): (n, 1), ((2, 2), 3): ((1, n), 3 * n + 1), 5: n}[shape]
    layout = Layout(shape, stride)
    count = size(layout)
    assert isinstance(count, int)
    assert every_index(shape, stride) == [crd2idx(i, layout) for i in range(count)]
