"""Instructions of NVIDIA's GPUs as objects that copies and products are made of."""

from __future__ import annotations

from triptych.cute.nvgpu import copy_operations as common
from triptych.cute.nvgpu import cpasync, warp
from triptych.cute.nvgpu.copy_operations import (
    CacheEvictionPriority,
    CopyG2ROp,
    CopyR2GOp,
    CopyUniversalOp,
    LoadCacheMode,
    MemoryOrder,
    MemoryScope,
)
from triptych.cute.nvgpu.universal_mma import MmaUniversalOp

__all__ = [
    "CacheEvictionPriority",
    "CopyG2ROp",
    "CopyR2GOp",
    "CopyUniversalOp",
    "LoadCacheMode",
    "MemoryOrder",
    "MemoryScope",
    "MmaUniversalOp",
    "common",
    "cpasync",
    "warp",
]


def __dir__() -> list[str]:
    return __all__
