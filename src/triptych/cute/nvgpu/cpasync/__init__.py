"""Asynchronous copies (`cp.async`, TMA): they go on while the threads that issued them compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from triptych.cute.nvgpu.cpasync.copy_operations import (
    CopyBulkTensorTileG2SMulticastOp,
    CopyBulkTensorTileG2SOp,
    CopyBulkTensorTileS2GOp,
    CopyDsmemStoreOp,
    CopyG2SOp,
    CopyReduceBulkTensorTileS2GOp,
    TmaCopyOp,
)
from triptych.cute.nvgpu.cpasync.tensor_maps import (
    CopyBulkTensorTileG2SMulticastNonExecTrait,
    CopyBulkTensorTileG2SNonExecTrait,
    CopyBulkTensorTileS2GNonExecTrait,
    CopyReduceBulkTensorTileS2GNonExecTrait,
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
from triptych.cute.tensors.reduction import ReductionOp
from triptych.diagnostics.likely_mistakes import missing_name
from triptych.support.forking import import_late

if TYPE_CHECKING:
    from triptych.frontends.ptx.bulk_copy_operation import CopyBulkG2SOp

ReductionKind = ReductionOp
"""The newer name of what a copy does with what is in memory."""

__all__ = [
    "CopyBulkG2SOp",
    "CopyBulkTensorTileG2SMulticastNonExecTrait",
    "CopyBulkTensorTileG2SMulticastOp",
    "CopyBulkTensorTileG2SNonExecTrait",
    "CopyBulkTensorTileG2SOp",
    "CopyBulkTensorTileS2GNonExecTrait",
    "CopyBulkTensorTileS2GOp",
    "CopyDsmemStoreOp",
    "CopyG2SOp",
    "CopyReduceBulkTensorTileS2GNonExecTrait",
    "CopyReduceBulkTensorTileS2GOp",
    "CtaGroup",
    "LoadCacheMode",
    "ReductionKind",
    "ReductionOp",
    "TmaCopyOp",
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


_LATE = {"CopyBulkG2SOp": "triptych.frontends.ptx.bulk_copy_operation"}
"""Names that a front end on top of this package has."""


if not TYPE_CHECKING:  # which would take every name for one of the module's

    def __getattr__(name: str) -> Any:
        if name in _LATE:
            return globals().setdefault(name, getattr(import_late(_LATE[name]), name))
        raise missing_name(__name__, name, __all__)


def __dir__() -> list[str]:
    return __all__
