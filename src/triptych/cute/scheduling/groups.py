"""Grouped tile scheduler: many problems of different sizes, whose clusters are numbered one after the other.

A cluster's number is the place in l that `StaticPersistentTileScheduler` gives. The search for its problem goes on
where the last one ended, as numbers grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from triptych.cute.pipeline.states import RunTimeInt
from triptych.cute.scheduling.persistent import (
    Number,
    PersistentTileSchedulerParams,
    StaticPersistentTileScheduler,
    Three,
)
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tensors.value_functions import where
from triptych.cute.tracing.device import tracing
from triptych.metastage.values.scalars import Boolean, Int32
from triptych.support.dataclass import dataclass


@dataclass(frozen=True)
class GroupedGemmGroupSearchState:
    """Where a search goes on: a problem, and how many clusters are before it."""

    start_group_idx: Number
    tile_count_prev_group: Number
    tile_count_searched: Number = 0


def create_initial_search_state(**_: object) -> GroupedGemmGroupSearchState:
    """The search begins with the first problem."""
    return GroupedGemmGroupSearchState(Int32(0), Int32(0), Int32(0))


@dataclass(frozen=True)
class GroupSearchResult:
    """A block's tile: of which problem, where in it, and how large the problem is."""

    group_idx: Number
    cta_tile_idx_m: Number
    cta_tile_idx_n: Number
    problem_shape_m: Number
    problem_shape_n: Number
    problem_shape_k: Number
    cta_tile_count_k: Number


class GroupedGemmTileSchedulerHelper:
    """Finds the problem that a cluster belongs to. Sizes are a tensor of (m, n, k, l) for each problem."""

    __slots__ = ("_before", "_first", "cluster_tile_shape_mnk", "group_count", "params")
    __runtime_mutable__ = __runtime_state__ = True

    def __init__(
        self,
        group_count: int,
        tile_sched_params: PersistentTileSchedulerParams,
        cluster_tile_shape_mnk: tuple[int, int, int],
        search_state: GroupedGemmGroupSearchState,
    ) -> None:
        self.group_count = group_count
        self.params = tile_sched_params
        self.cluster_tile_shape_mnk = cluster_tile_shape_mnk
        self._first = RunTimeInt(search_state.start_group_idx)
        self._before = RunTimeInt(search_state.tile_count_prev_group)

    def __repr__(self) -> str:
        return f"GroupedGemmTileSchedulerHelper({self.group_count} problems, {self.params})"

    def delinearize_z(self, cta_tile_coord: Three, problem_shape_mnkl: Tensor, **_: object) -> GroupSearchResult:
        """The tile of a block that is at (m, n) of its cluster, which has the number l."""
        rows, depth = self.cluster_tile_shape_mnk[0], self.cluster_tile_shape_mnk[2]
        in_m, in_n, number = cta_tile_coord
        self._search(number, problem_shape_mnkl)
        group, before = self._first.get(), self._before.get()
        m, n, k = (problem_shape_mnkl[group, mode] for mode in range(3))
        clusters_m = -(-m // rows)
        place = number - before
        blocks_m, blocks_n = self.params.cluster_shape_mn
        return GroupSearchResult(
            group,
            place % clusters_m * blocks_m + in_m,
            place // clusters_m * blocks_n + in_n,
            m,
            n,
            k,
            -(-k // depth),
        )

    def has_found(self, number: Number, sizes: Tensor) -> Number:
        """Whether the problem at which a search has ended has the cluster: else no problem has it."""
        return number < self._behind(sizes)

    def _behind(self, sizes: Tensor) -> Number:
        """The number of the first cluster of the next problem."""
        m, n = sizes[self._first.get(), 0], sizes[self._first.get(), 1]
        return self._before.get() + -(-m // self.cluster_tile_shape_mnk[0]) * -(-n // self.cluster_tile_shape_mnk[1])

    def _search(self, number: Number, sizes: Tensor) -> None:
        """Go on to the problem that has the cluster; to the last one, where none has it."""

        def is_later() -> Number:
            return (number >= self._behind(sizes)) & (self._first.get() + 1 < self.group_count)

        def go_on() -> None:
            self._before.set(self._behind(sizes))
            self._first.set(self._first.get() + 1)

        is_earlier = number < self._before.get()  # numbers may start anew
        self._first.set(where(is_earlier, 0, self._first.get()))
        self._before.set(where(is_earlier, 0, self._before.get()))
        tracing().hooks.while_(is_later, go_on, exits=())

    def __extract_mlir_values__(self) -> list[Any]:
        return [self._first.get(), self._before.get()]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> GroupedGemmTileSchedulerHelper:
        state = GroupedGemmGroupSearchState(values[0], values[1])
        return GroupedGemmTileSchedulerHelper(self.group_count, self.params, self.cluster_tile_shape_mnk, state)


@dataclass(frozen=True)
class GroupedWorkTileInfo:
    """A block's tile in one of the problems, and whether there is one."""

    is_valid_tile: Boolean
    group_search_result: GroupSearchResult


class StaticPersistentGroupTileScheduler:
    """Gives a cluster every n-th cluster of all problems.

    The work ends with the last problem, whatever the parameters say: where only the GPU knows the sizes of problems, a
    host launches as many clusters as run together, and says that there are as many.
    """

    __slots__ = ("_helper", "_sizes", "_tiles")
    __runtime_mutable__ = __runtime_state__ = True

    def __init__(
        self, tiles: StaticPersistentTileScheduler, helper: GroupedGemmTileSchedulerHelper, sizes: Tensor
    ) -> None:
        self._tiles = tiles
        self._helper = helper
        self._sizes = sizes

    def __repr__(self) -> str:
        return f"StaticPersistentGroupTileScheduler({self._helper})"

    @classmethod
    def create(
        cls,
        tile_sched_params: PersistentTileSchedulerParams,
        block_idx: Three,
        grid_dim: Three,
        cluster_tile_shape_mnk: tuple[int, int, int],
        initial_search_state: GroupedGemmGroupSearchState,
        group_count: int,
        problem_shape_mnkl: Tensor,
        **_: object,
    ) -> Self:
        """The scheduler of a block, from its place in the grid."""
        tiles = StaticPersistentTileScheduler.create(tile_sched_params, block_idx, grid_dim)
        helper = GroupedGemmTileSchedulerHelper(
            group_count, tile_sched_params, cluster_tile_shape_mnk, initial_search_state
        )
        return cls(tiles, helper, problem_shape_mnkl)

    get_grid_shape = staticmethod(StaticPersistentTileScheduler.get_grid_shape)

    def get_current_work(self, **_: object) -> GroupedWorkTileInfo:
        """The tile that this block is at."""
        place = self._tiles.get_current_work().tile_idx
        found = self._helper.delinearize_z(place, self._sizes)
        return GroupedWorkTileInfo(Boolean(self._helper.has_found(place[2], self._sizes)), found)

    initial_work_tile_info = get_current_work
    """The first one."""

    def advance_to_next_work(self, *, advance_count: int = 1, **_: object) -> None:
        """Go to the next tile, or further."""
        self._tiles.advance_to_next_work(advance_count=advance_count)

    @property
    def num_tiles_executed(self) -> Any:
        """How many tiles have been passed."""
        return self._tiles.num_tiles_executed

    def __extract_mlir_values__(self) -> list[Any]:
        return [*self._tiles.__extract_mlir_values__(), *self._helper.__extract_mlir_values__()]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Self:
        tiles = self._tiles.__new_from_mlir_values__(values[:-2])
        return type(self)(tiles, self._helper.__new_from_mlir_values__(values[-2:]), self._sizes)
