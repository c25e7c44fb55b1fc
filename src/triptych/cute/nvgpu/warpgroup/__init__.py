"""Warpgroup-level instructions (WGMMA), which 128 threads execute together, and what orders them."""

from __future__ import annotations

from triptych.cute.nvgpu.shared_operands import SmemLayoutAtomKind, make_smem_layout_atom
from triptych.cute.nvgpu.warpgroup.mma_emission import commit_group, fence, wait_group
from triptych.cute.nvgpu.warpgroup.mma_operations import (
    Field,
    MmaF8Op,
    MmaF16BF16Op,
    MmaI8Op,
    MmaTF32Op,
    OperandSource,
    WarpgroupMmaOp,
)
from triptych.cute.tensors.layout_orders import OperandMajorMode

__all__ = [
    "Field",
    "MmaF8Op",
    "MmaF16BF16Op",
    "MmaI8Op",
    "MmaTF32Op",
    "OperandMajorMode",
    "OperandSource",
    "SmemLayoutAtomKind",
    "WarpgroupMmaOp",
    "commit_group",
    "fence",
    "make_smem_layout_atom",
    "wait_group",
]


def __dir__() -> list[str]:
    return __all__
