"""`triptych.cute.utils` under the name that public programs import, with what only host programs ask for.

What a kernel would do with the scheduler of Blackwell's instructions is refused where it is called, with the tier that
it belongs to; its grid is known.
"""

from __future__ import annotations

from typing import NoReturn

from triptych.compat.activation import not_here
from triptych.compat.errors import NotHereYetError
from triptych.compat.modelled_gpu import HardwareInfo
from triptych.compat.utils.blackwell_helpers import compute_epilogue_tile_shape
from triptych.compat.utils.tensor_map_manager import TensorMapManager, TensorMapUpdateMode
from triptych.cute.scheduling.groups import (
    GroupedGemmGroupSearchState,
    GroupedGemmTileSchedulerHelper,
    GroupSearchResult,
    StaticPersistentGroupTileScheduler,
    create_initial_search_state,
)
from triptych.cute.scheduling.persistent import (
    PersistentTileSchedulerParams,
    StaticPersistentRuntimeTileScheduler,
    StaticPersistentTileScheduler,
    Three,
    WorkTileInfo,
)
from triptych.cute.utils import (
    LayoutEnum,
    SmemAllocator,
    TmemAllocator,
    create_cute_tensor_for_fp8,
    get_num_tmem_alloc_cols,
    get_smem_capacity_in_bytes,
    is_fp8_dtype,
    print_latex,
    print_latex_tv,
)

__all__ = [
    "ClcDynamicPersistentTileScheduler",
    "ClcDynamicPersistentTileSchedulerParams",
    "GroupSearchResult",
    "GroupedGemmGroupSearchState",
    "GroupedGemmTileSchedulerHelper",
    "HardwareInfo",
    "LayoutEnum",
    "PersistentTileSchedulerParams",
    "SmemAllocator",
    "StaticPersistentGroupTileScheduler",
    "StaticPersistentRuntimeTileScheduler",
    "StaticPersistentTileScheduler",
    "TensorMapManager",
    "TensorMapUpdateMode",
    "TmemAllocator",
    "WorkTileInfo",
    "compute_epilogue_tile_shape",
    "create_cute_tensor_for_fp8",
    "create_initial_search_state",
    "get_num_tmem_alloc_cols",
    "get_smem_capacity_in_bytes",
    "is_fp8_dtype",
    "print_latex",
    "print_latex_tv",
]


def __dir__() -> list[str]:
    return __all__


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
    def create(*_: object, **__: object) -> NoReturn:
        """Refused: the instruction is not here."""
        raise not_here("cutlass.utils.ClcDynamicPersistentTileScheduler.create", "T5", NotHereYetError)
