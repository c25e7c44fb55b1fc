"""Tensor memory instructions of a CTA or a pair of them (tcgen05): UMMA, and copies of tensor memory."""

from __future__ import annotations

from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.nvgpu.shared_operands import SmemLayoutAtomKind, make_smem_layout_atom
from triptych.cute.nvgpu.tcgen05.copy_operations import (
    Ld16x64bOp,
    Ld16x128bOp,
    Ld16x256bOp,
    Ld32x32bOp,
    Pack,
    Repetition,
    St16x64bOp,
    St16x128bOp,
    St16x256bOp,
    St32x32bOp,
    Unpack,
    make_tmem_copy,
)
from triptych.cute.nvgpu.tcgen05.mma_operations import (
    Field,
    MmaF8F6F4Op,
    MmaF16BF16Op,
    MmaI8Op,
    MmaTF32Op,
    OperandSource,
)
from triptych.cute.tensors.layout_orders import OperandMajorMode

__all__ = [
    "CtaGroup",
    "Field",
    "Ld16x64bOp",
    "Ld16x128bOp",
    "Ld16x256bOp",
    "Ld32x32bOp",
    "MmaF8F6F4Op",
    "MmaF16BF16Op",
    "MmaI8Op",
    "MmaTF32Op",
    "OperandMajorMode",
    "OperandSource",
    "Pack",
    "Repetition",
    "SmemLayoutAtomKind",
    "St16x64bOp",
    "St16x128bOp",
    "St16x256bOp",
    "St32x32bOp",
    "Unpack",
    "make_smem_layout_atom",
    "make_tmem_copy",
]


def __dir__() -> list[str]:
    return __all__
