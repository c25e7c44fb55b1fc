"""NVIDIA GPU instructions as objects that copies and MMAs are made of."""

from __future__ import annotations

import sys

from triptych.cute.nvgpu import cpasync, tcgen05, warp, warpgroup
from triptych.cute.nvgpu.cpasync.tensor_maps import make_tiled_tma_atom_A, make_tiled_tma_atom_B
from triptych.cute.nvgpu.universal import (
    CacheEvictionPriority,
    CopyG2ROp,
    CopyR2GOp,
    CopyUniversalOp,
    LoadCacheMode,
    MemoryOrder,
    MemoryScope,
    MmaUniversalOp,
)
from triptych.cute.tensors.layout_orders import OperandMajorMode
from triptych.cute.tracing.errors import TensorError as OpError

__all__ = [
    "CacheEvictionPriority",
    "CopyG2ROp",
    "CopyR2GOp",
    "CopyUniversalOp",
    "LoadCacheMode",
    "MemoryOrder",
    "MemoryScope",
    "MmaUniversalOp",
    "OpError",
    "OperandMajorMode",
    "common",
    "cpasync",
    "make_tiled_tma_atom_A",
    "make_tiled_tma_atom_B",
    "tcgen05",
    "warp",
    "warpgroup",
]

common = sys.modules[__name__]
"""Public programs import some of these names from `nvgpu.common`."""


def __dir__() -> list[str]:
    return __all__
