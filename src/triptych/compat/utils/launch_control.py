"""Launch control, host side: grids and enumerations of schedulers for Hopper and Blackwell.

What a kernel would do with them is refused where it is called, with the tier that it belongs to.
"""

from __future__ import annotations

from typing import Any, NoReturn

from triptych.compat.aliased_modules import not_here
from triptych.compat.errors import NotHereYetError
from triptych.cute.scheduling.persistent import PersistentTileSchedulerParams, Three


class ClcDynamicPersistentTileSchedulerParams(PersistentTileSchedulerParams):
    """The tiles of a problem whose clusters the GPU gives out itself: the grid has one for each."""

    @property
    def grid(self) -> Three:
        """Whole clusters in each mode."""
        (m, n, layers), (rows, columns) = self.clusters_mnl, self.cluster_shape_mn
        return m * rows, n * columns, layers


class ClcDynamicPersistentTileScheduler:
    """Asks the GPU for the next cluster, by an instruction of Blackwell."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @staticmethod
    def get_grid_shape(params: ClcDynamicPersistentTileSchedulerParams, **_: object) -> Three:
        """The grid to launch."""
        return params.grid

    # Any: whatever the instruction would be given.
    @staticmethod
    def create(*_: Any, **__: Any) -> NoReturn:
        """Refused: the instruction is not here."""
        raise not_here("cutlass.utils.ClcDynamicPersistentTileScheduler.create", "T5", NotHereYetError)
