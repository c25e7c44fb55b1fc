"""Groups that follow one another along a mode of one matrix: which of them a cluster's tile belongs to.

`cumsum` has where each group begins along that mode, and at its end where the last one ends. The first tile of a group
begins where the group does, so a group has as many tiles as cover it, and an empty one has none.
"""

from __future__ import annotations

from triptych.cute.tensors.tensor import Tensor
from triptych.driver.jitting import jit
from triptych.metastage.values.binding_time import Constexpr
from triptych.metastage.values.scalars import Boolean, Int32
from triptych.support.dataclass import dataclass

Number = Int32 | int


@dataclass(frozen=True)
class ContiguousGroupSearchState:
    """Where a search is: groups count from 1, so 0 is before the first, and one more than there are after the last.

    `cur_start` is where the tile begins that was looked for, `cur_boundary` where its group ends.
    """

    cur_group_idx: Number
    cur_start: Number
    cur_boundary: Number
    tiles_before: Number
    """Of earlier groups."""
    tiles_through: Number
    """Of this group too."""


@dataclass(frozen=True)
class ContiguousGroupWorkTileInfo:
    """A CTA's tile: its number along M, where it begins along N, of which group, and how far the group goes on."""

    cta_coord_m: Number
    coord_n: Number
    group_idx: Number
    distance_to_boundary: Number
    is_valid_tile: Boolean


def create_initial_contiguous_group_search_state() -> ContiguousGroupSearchState:
    """A search that has not seen a group yet."""
    return ContiguousGroupSearchState(*(Int32(0) for _ in range(5)))


@jit
def contiguous_group_search(
    cluster_tile_shape_mnk: Constexpr[tuple[int, int, int]],
    group_count: Number,
    cluster_tile_coord: Number,
    search_state: ContiguousGroupSearchState,
    cumsum: Tensor,
    search_mode: Constexpr[int],
) -> ContiguousGroupSearchState:
    """Go on to the group that has tile `cluster_tile_coord` along M (0) or N (1); these numbers only grow."""
    extent = cluster_tile_shape_mnk[search_mode]
    group, boundary = search_state.cur_group_idx, search_state.cur_boundary
    before, through = search_state.tiles_before, search_state.tiles_through
    while group <= group_count and cluster_tile_coord >= through:
        group += 1
        if group <= group_count:
            boundary = cumsum[group]
            before = through
            through += (boundary - cumsum[group - 1] + extent - 1) // extent
    start = search_state.cur_start
    if group <= group_count:
        start = cumsum[group - 1] + (cluster_tile_coord - before) * extent
    return ContiguousGroupSearchState(group, start, boundary, before, through)


def make_contiguous_group_work_tile_info(group_count: Number, tile_info: Tensor) -> ContiguousGroupWorkTileInfo:
    """A tile from its four numbers in memory; the group after the last says that there is none."""
    row, column, group, distance = (tile_info[place] for place in range(4))
    return ContiguousGroupWorkTileInfo(row, column, group, distance, Boolean(group < group_count))
