"""Groups one after another: the search finds what counting all tiles finds, however it gets there."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from triptych import cute
from triptych.utils import mixed_input_helpers as helpers

TILE = (32, 24, 64)


@tt.jit
def search(
    cumsum: cute.Tensor, tiles: cute.Tensor, found: cute.Tensor, groups: tt.Int32, mode: tt.Constexpr[int]
) -> None:
    state = helpers.create_initial_contiguous_group_search_state()
    for i in range(cute.size(tiles)):
        state = helpers.contiguous_group_search(TILE, groups, tiles[i], state, cumsum, mode)
        found[i, 0], found[i, 1], found[i, 2] = state.cur_group_idx, state.cur_start, state.cur_boundary


def every_tile(sizes: list[int], extent: int) -> list[tuple[int, int, int]]:
    """The group, where the tile begins and where its group ends, of all tiles in order."""
    tiles, start = [], 0
    for group, size in enumerate(sizes, 1):
        tiles += [(group, start + first, start + size) for first in range(0, size, extent)]
        start += size
    return tiles


@examples(40)
@given(
    sizes=st.lists(st.integers(0, 100), min_size=1, max_size=8),
    steps=st.lists(st.integers(0, 4), min_size=1, max_size=12),
    mode=st.integers(0, 1),
)
def test_search_finds_what_counting_finds(sizes: list[int], steps: list[int], mode: int) -> None:
    cumsum = np.array([0, *np.cumsum(sizes)], np.int32)
    tiles = np.cumsum(steps).astype(np.int32)
    found = np.zeros((len(tiles), 3), np.int32)
    search(cumsum, tiles, found, len(sizes), mode)
    every = every_tile(sizes, TILE[mode])
    for tile, place in zip(tiles, found, strict=True):
        if tile < len(every):
            assert tuple(place) == every[tile]
        else:
            assert place[0] == len(sizes) + 1


@tt.jit
def told(numbers: cute.Tensor, out: cute.Tensor, groups: tt.Int32) -> None:
    tile: Any = helpers.make_contiguous_group_work_tile_info(groups, numbers)
    out[0], out[1], out[2], out[3] = tile.cta_coord_m, tile.coord_n, tile.group_idx, tile.distance_to_boundary
    out[4] = tile.is_valid_tile.to(tt.Int32)


def test_the_group_after_the_last_is_none() -> None:
    out = np.zeros(5, np.int32)
    for group, is_valid in ((1, 1), (2, 0)):
        told(np.array([4, 160, group, -8], np.int32), out, 2)
        assert out.tolist() == [4, 160, group, -8, is_valid]
