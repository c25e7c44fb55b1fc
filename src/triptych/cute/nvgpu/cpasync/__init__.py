"""Asynchronous copies (`cp.async`, TMA): they go on while the threads that issued them compute."""

from __future__ import annotations

from triptych.cute.nvgpu.cpasync.copy_operations import (
    CopyBulkTensorTileG2SMulticastOp,
    CopyBulkTensorTileG2SOp,
    CopyBulkTensorTileS2GOp,
    CopyDsmemStoreOp,
    CopyG2SOp,
    CopyReduceBulkTensorTileS2GOp,
)
from triptych.cute.nvgpu.cpasync.tensor_maps import (
    CopyBulkTensorTileG2SNonExecTrait,
    TmaInfo,
    copy_tensormap,
    cp_fence_tma_desc_release,
    create_tma_multicast_mask,
    fence_tma_desc_acquire,
    fence_tma_desc_release,
    make_tiled_tma_atom,
    prefetch_descriptor,
    tma_partition,
    update_tma_descriptor,
)
from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.nvgpu.universal import LoadCacheMode

__all__ = [
    "CopyBulkTensorTileG2SMulticastOp",
    "CopyBulkTensorTileG2SNonExecTrait",
    "CopyBulkTensorTileG2SOp",
    "CopyBulkTensorTileS2GOp",
    "CopyDsmemStoreOp",
    "CopyG2SOp",
    "CopyReduceBulkTensorTileS2GOp",
    "CtaGroup",
    "LoadCacheMode",
    "TmaInfo",
    "copy_tensormap",
    "cp_fence_tma_desc_release",
    "create_tma_multicast_mask",
    "fence_tma_desc_acquire",
    "fence_tma_desc_release",
    "make_tiled_tma_atom",
    "prefetch_descriptor",
    "tma_partition",
    "update_tma_descriptor",
]


def __dir__() -> list[str]:
    return __all__
