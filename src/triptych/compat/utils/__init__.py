"""`triptych.cute.utils` under the name that public programs import, with what only host programs ask for."""

from __future__ import annotations

from triptych.compat.modelled_gpu import HardwareInfo
from triptych.compat.utils.blackwell_helpers import compute_epilogue_tile_shape
from triptych.compat.utils.block_copies import block_copy
from triptych.compat.utils.tensor_map_manager import TensorMapManager, TensorMapUpdateMode
from triptych.cute.scheduling.groups import (
    GroupedGemmGroupSearchState,
    GroupedGemmTileSchedulerHelper,
    GroupSearchResult,
    StaticPersistentGroupTileScheduler,
    create_initial_search_state,
)
from triptych.cute.scheduling.launch_control import (
    ClcDynamicPersistentTileScheduler,
    ClcDynamicPersistentTileSchedulerParams,
)
from triptych.cute.scheduling.persistent import (
    PersistentTileSchedulerParams,
    StaticPersistentRuntimeTileScheduler,
    StaticPersistentTileScheduler,
    WorkTileInfo,
)
from triptych.cute.utils import (
    LayoutEnum,
    SmemAllocator,
    SmemPartition,
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
    "SmemPartition",
    "StaticPersistentGroupTileScheduler",
    "StaticPersistentRuntimeTileScheduler",
    "StaticPersistentTileScheduler",
    "TensorMapManager",
    "TensorMapUpdateMode",
    "TmemAllocator",
    "WorkTileInfo",
    "block_copy",
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
