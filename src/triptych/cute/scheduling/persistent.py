"""Persistent tile schedulers, which tell a block its next tile, in an order of clusters that is part of the program.

The order takes how many tiles there are in (m, n, l), and how many blocks of a cluster in (m, n); for a number in it it
gives the cluster's place. Each place comes exactly once, whatever the extents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from triptych.cute.pipeline.states import RunTimeInt
from triptych.cute.tensors.value_functions import where
from triptych.cute.tracing.errors import TensorShapeError
from triptych.layout import Layout, make_layout
from triptych.layout.tuples import leaves, transform_leaf
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean, Int32
from triptych.support.dataclass import dataclass

# Any: an int, or a number of the program; so in all of this room.
Number = Any
Three = tuple[Number, Number, Number]


@dataclass(frozen=True)
class PersistentTileSchedulerParams:
    """The tiles of a problem and their order. Counts may be known at run time; the rest is part of the program.

    Along m the clusters of a stripe of `swizzle_size` columns go down together; without it, along n, of rows.
    """

    problem_shape_ntile_mnl: Three
    cluster_shape_mnk: tuple[int, int, int]
    swizzle_size: int = 1
    raster_along_m: bool = True

    def __post_init__(self) -> None:
        depth = self.cluster_shape_mnk[2]
        if depth != 1:
            raise TensorShapeError(
                "a cluster has no extent in k",
                span=place(),
                found=f"the cluster {self.cluster_shape_mnk}",
                expected="(m, n, 1)",
            )
        if self.swizzle_size < 1:
            raise TensorShapeError(
                "a stripe has at least one column", span=place(), found=str(self.swizzle_size), expected="1 or more"
            )

    @property
    def cluster_shape_mn(self) -> tuple[int, int]:
        """Blocks of a cluster in (m, n)."""
        return self.cluster_shape_mnk[:2]

    @property
    def clusters_mnl(self) -> Three:
        """How many clusters there are in each mode; the last of a mode may reach over its end."""
        (m, n, layers), (rows, columns) = self.problem_shape_ntile_mnl, self.cluster_shape_mn
        return -(-m // rows), -(-n // columns), layers

    @property
    def problem_layout_ncluster_mnl(self) -> Layout:
        """The clusters as a layout, m fastest."""
        return make_layout(self.clusters_mnl)

    @property
    def clusters(self) -> Number:
        """How many there are in all."""
        m, n, layers = self.clusters_mnl
        return m * n * layers

    def grid_shape(self, max_active_clusters: Number) -> Three:
        """Blocks of one cluster in (m, n), and as many clusters as run together, or fewer if there is less to do."""
        return *self.cluster_shape_mn, _smaller(self.clusters, max_active_clusters)

    def cluster_at(self, number: Number) -> Three:
        """The place (m, n, l) of a cluster in the order."""
        m, n, _ = self.clusters_mnl
        layer, rest = number // (m * n), number % (m * n)
        along, across = (m, n) if self.raster_along_m else (n, m)
        if self.swizzle_size == 1:
            major, minor = rest % along, rest // along
        else:
            stripe, rest = rest // (along * self.swizzle_size), rest % (along * self.swizzle_size)
            first = stripe * self.swizzle_size
            width = _smaller(across - first, self.swizzle_size)  # the last stripe may be narrower
            major, minor = rest // width, first + rest % width
        return (major, minor, layer) if self.raster_along_m else (minor, major, layer)

    def __extract_mlir_values__(self) -> list[Any]:
        """The counts that are known at run time."""
        return [count for count in self.problem_shape_ntile_mnl if not isinstance(count, int)]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> PersistentTileSchedulerParams:
        rest = iter(values)
        counts: Any = tuple(count if isinstance(count, int) else next(rest) for count in self.problem_shape_ntile_mnl)
        return replace(self, problem_shape_ntile_mnl=counts)

    def __static_part__(self) -> object:
        counts = tuple(count if isinstance(count, int) else None for count in self.problem_shape_ntile_mnl)
        return counts, self.cluster_shape_mnk, self.swizzle_size, self.raster_along_m


def _smaller(x: Number, y: Number) -> Number:
    """Python's `min` where both are known; else the program chooses."""
    return min(x, y) if isinstance(x, int) and isinstance(y, int) else where(x < y, x, y)


class WorkTileInfo:
    """A tile by its place, (m, n, l) or nested as a program counts, and whether there is one. A place may lack a part:
    None stays None."""

    __slots__ = ("_is_valid_tile", "_tile_idx")

    # Any: a tuple of numbers and of such tuples.
    def __init__(self, tile_idx: Any, is_valid_tile: Number) -> None:
        self._tile_idx = transform_leaf(lambda part: None if part is None else Int32(part), tile_idx)
        self._is_valid_tile = Boolean(is_valid_tile)

    def __repr__(self) -> str:
        return f"WorkTileInfo({self._tile_idx}, {self._is_valid_tile})"

    @property
    def tile_idx(self) -> Any:
        """Its place."""
        return self._tile_idx

    @property
    def is_valid_tile(self) -> Boolean:
        """Whether work is left."""
        return self._is_valid_tile

    def __extract_mlir_values__(self) -> list[Any]:
        return [*(part for part in leaves(self._tile_idx) if part is not None), self._is_valid_tile]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> WorkTileInfo:
        *places, is_valid = values
        following = iter(places)
        place = transform_leaf(lambda part: None if part is None else next(following), self._tile_idx)
        return WorkTileInfo(place, is_valid)


class StaticPersistentTileScheduler:
    """Gives a cluster every n-th tile of the order, n being how many clusters were launched.

    The grid is (blocks in m, blocks in n, clusters), as `get_grid_shape` gives it.
    """

    __slots__ = ("_clusters", "_executed", "_number", "block_in_cluster", "params")
    __runtime_mutable__ = __runtime_state__ = True

    def __init__(
        self,
        params: PersistentTileSchedulerParams,
        clusters: Number,
        number: Number,
        block_in_cluster: Three,
        executed: Number,
    ) -> None:
        self.params = params
        self._clusters = clusters
        self._number = RunTimeInt(number)
        self.block_in_cluster = block_in_cluster
        self._executed = RunTimeInt(executed)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.params})"

    @classmethod
    def create(cls, params: PersistentTileSchedulerParams, block_idx: Three, grid_dim: Three, **_: Any) -> Self:
        """The scheduler of a block, from its place in the grid."""
        rows, columns = params.cluster_shape_mn
        clusters = grid_dim[0] * grid_dim[1] * grid_dim[2] // (rows * columns)
        within = (block_idx[0] % rows, block_idx[1] % columns, Int32(0))
        return cls(params, Int32(clusters), block_idx[2], within, 0)

    @staticmethod
    def get_grid_shape(params: PersistentTileSchedulerParams, max_active_clusters: Number, **_: object) -> Three:
        """The grid to launch, where so many clusters run at the same time."""
        return params.grid_shape(max_active_clusters)

    def get_current_work(self, **_: object) -> WorkTileInfo:
        """The tile that this block is at."""
        number = self._number.get()
        return WorkTileInfo(self._tile_at(number), number < self.params.clusters)

    initial_work_tile_info = get_current_work
    """The first one."""

    def advance_to_next_work(self, *, advance_count: int = 1, **_: object) -> None:
        """Go to the next tile, or further."""
        self._number.set(self._number.get() + self._clusters * advance_count)
        self._executed.set(self._executed.get() + 1)

    @property
    def num_tiles_executed(self) -> Any:
        """How many tiles have been passed."""
        return self._executed.get()

    def _tile_at(self, number: Number) -> Three:
        rows, columns = self.params.cluster_shape_mn
        m, n, layer = self.params.cluster_at(number)
        return m * rows + self.block_in_cluster[0], n * columns + self.block_in_cluster[1], layer

    def __extract_mlir_values__(self) -> list[Any]:
        return [self._clusters, self._number.get(), *self.block_in_cluster, self._executed.get()]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Self:
        clusters, number, m, n, layer, executed = values
        return type(self)(self.params, clusters, number, (m, n, layer), executed)


class StaticPersistentRuntimeTileScheduler(StaticPersistentTileScheduler):
    """The same where only one mode, `inner_mode`, has an end that is known before the kernel: the other goes on.

    A tile is the place of its cluster, and always valid: the kernel finds out where the work ends.
    """

    __slots__ = ("inner_mode",)

    inner_mode: int

    @classmethod
    def create(
        cls,
        params: PersistentTileSchedulerParams,
        block_idx: Three,
        grid_dim: Three,
        inner_mode: int = 1,
        **_: Any,
    ) -> Self:
        """The scheduler of a block; `inner_mode` is 0 for m or 1 for n, the mode whose tiles follow each other."""
        made = super().create(params, block_idx, grid_dim)
        made.inner_mode = inner_mode
        return made

    def get_current_work(self, **_: object) -> WorkTileInfo:
        """The place of the cluster that this block belongs to."""
        return WorkTileInfo(self._tile_at(self._number.get()), True)

    initial_work_tile_info = get_current_work

    def _tile_at(self, number: Number) -> Three:
        inner = self.params.clusters_mnl[self.inner_mode]
        within, outer = number % inner, number // inner
        return (within, outer, Int32(0)) if self.inner_mode == 0 else (outer, within, Int32(0))

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Self:
        made = super().__new_from_mlir_values__(values)
        made.inner_mode = self.inner_mode
        return made
