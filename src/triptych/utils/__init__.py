"""`triptych.compat.utils` under its shorter name."""

from __future__ import annotations

from triptych.compat.utils import (
    ClcDynamicPersistentTileScheduler,
    ClcDynamicPersistentTileSchedulerParams,
    GroupedGemmGroupSearchState,
    GroupedGemmTileSchedulerHelper,
    GroupSearchResult,
    HardwareInfo,
    LayoutEnum,
    PersistentTileSchedulerParams,
    SmemAllocator,
    SmemPartition,
    StaticPersistentGroupTileScheduler,
    StaticPersistentRuntimeTileScheduler,
    StaticPersistentTileScheduler,
    TensorMapManager,
    TensorMapUpdateMode,
    TmemAllocator,
    WorkTileInfo,
    block_copy,
    compute_epilogue_tile_shape,
    create_cute_tensor_for_fp8,
    create_initial_search_state,
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
