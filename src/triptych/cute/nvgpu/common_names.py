"""What public programs import from `nvgpu.common`: plain copies, and how operands of products lie in memory."""

from __future__ import annotations

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
from triptych.cute.tensors.layout_orders import OperandMajorMode

__all__ = [
    "CacheEvictionPriority",
    "CopyG2ROp",
    "CopyR2GOp",
    "CopyUniversalOp",
    "LoadCacheMode",
    "MemoryOrder",
    "MemoryScope",
    "MmaUniversalOp",
    "OperandMajorMode",
]
