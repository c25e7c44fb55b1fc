"""Instructions of NVIDIA's GPUs as objects that copies are made of."""

from __future__ import annotations

from triptych.cute.nvgpu import copy_operations as common
from triptych.cute.nvgpu.copy_operations import (
    CacheEvictionPriority,
    CopyG2ROp,
    CopyR2GOp,
    CopyUniversalOp,
    LoadCacheMode,
    MemoryOrder,
    MemoryScope,
)

__all__ = [
    "CacheEvictionPriority",
    "CopyG2ROp",
    "CopyR2GOp",
    "CopyUniversalOp",
    "LoadCacheMode",
    "MemoryOrder",
    "MemoryScope",
    "common",
]
