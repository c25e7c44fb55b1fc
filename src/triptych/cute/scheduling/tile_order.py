"""Meta-stage, persistent kernels: the tiles of a problem, and the order in which clusters of blocks take them.

Input: how many tiles there are in (m, n, l), and how many blocks of a cluster in (m, n). Output: for a number in the
order, the cluster's place. Each place comes exactly once, whatever the extents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from triptych.cute.tensors.selection import where
from triptych.cute.tracing.cute_errors import TensorShapeError
from triptych.layout import Layout, make_layout
from triptych.metastage.trace.trace import place

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
