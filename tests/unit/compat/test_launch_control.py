"""Host side of schedulers of later tiers: grids are right, and the kernel's side says its tier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.compat.errors import NotHereYetError
from triptych.utils import (
    ClcDynamicPersistentTileScheduler,
    ClcDynamicPersistentTileSchedulerParams,
    TensorMapUpdateMode,
)

small = st.integers(1, 9)


@given(st.tuples(small, small, small), st.tuples(st.integers(1, 4), st.integers(1, 4)))
def test_the_grid_has_a_cluster_for_each_tile(tiles: tuple[int, int, int], cluster: tuple[int, int]) -> None:
    params = ClcDynamicPersistentTileSchedulerParams(tiles, (*cluster, 1))
    grid = ClcDynamicPersistentTileScheduler.get_grid_shape(params)
    assert [extent % blocks for extent, blocks in zip(grid, (*cluster, 1), strict=True)] == [0, 0, 0]
    assert all(0 <= extent - count < blocks for extent, count, blocks in zip(grid, tiles, (*cluster, 1), strict=True))


def test_the_rest_says_its_tier() -> None:
    with pytest.raises(NotHereYetError, match="T5"):
        ClcDynamicPersistentTileScheduler.create(None)
    assert {mode.name for mode in TensorMapUpdateMode} == {"GMEM", "SMEM"}
