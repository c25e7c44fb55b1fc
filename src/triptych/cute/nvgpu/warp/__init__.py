"""Warp-level instructions, which the 32 threads of a warp execute together."""

from __future__ import annotations

from triptych.cute.nvgpu.warp.copy_operations import (
    LdMatrix8x8x16bOp,
    LdMatrix8x16x8bOp,
    LdMatrix16x8x8bOp,
    LdMatrix16x16x8bOp,
    StMatrix8x8x16bOp,
    StMatrix16x8x8bOp,
)
from triptych.cute.nvgpu.warp.mma_operations import MmaF16BF16Op, MmaFP8Op, MmaI8Op, MmaTF32Op, WarpMmaOp
from triptych.cute.nvgpu.warp.scaled_mma_operations import (
    MXF8F6F4_SUPPORTED_PAIRS,
    MmaMXF4NVF4Op,
    MmaMXF4Op,
    MmaMXF8F6F4Op,
    MmaMXF8Op,
)

__all__ = [
    "MXF8F6F4_SUPPORTED_PAIRS",
    "LdMatrix8x8x16bOp",
    "LdMatrix8x16x8bOp",
    "LdMatrix16x8x8bOp",
    "LdMatrix16x16x8bOp",
    "MmaF16BF16Op",
    "MmaFP8Op",
    "MmaI8Op",
    "MmaMXF4NVF4Op",
    "MmaMXF4Op",
    "MmaMXF8F6F4Op",
    "MmaMXF8Op",
    "MmaTF32Op",
    "StMatrix8x8x16bOp",
    "StMatrix16x8x8bOp",
    "WarpMmaOp",
]


def __dir__() -> list[str]:
    return __all__
