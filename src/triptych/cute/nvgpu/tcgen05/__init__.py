"""Tensor memory instructions of a CTA or a pair of them (tcgen05): UMMA, and copies of tensor memory."""

from __future__ import annotations

import sys

from triptych.cute.nvgpu.cta_groups import CtaGroup, commit
from triptych.cute.nvgpu.shared_operands import SmemLayoutAtomKind, make_smem_layout_atom
from triptych.cute.nvgpu.tcgen05.copy_operations import (
    Ld16x32bx2Op,
    Ld16x64bOp,
    Ld16x128bOp,
    Ld16x256bOp,
    Ld32x32bOp,
    LdRed16x32bx2Op,
    LdRed32x32bOp,
    Pack,
    Repetition,
    St16x32bx2Op,
    St16x64bOp,
    St16x128bOp,
    St16x256bOp,
    St32x32bOp,
    TmemLoadRedOp,
    Unpack,
    get_tmem_copy_properties,
    make_tmem_copy,
)
from triptych.cute.nvgpu.tcgen05.mma_operations import ByteFloatsOfOneTypeOp as MmaFP8Op
from triptych.cute.nvgpu.tcgen05.mma_operations import (
    Field,
    MmaF8F6F4Op,
    MmaF16BF16Op,
    MmaI8Op,
    MmaMXF4NVF4Op,
    MmaMXF4Op,
    MmaMXF8F6F4Op,
    MmaTF32Op,
    OperandSource,
    SM103MmaMXF4NVF4Op,
    SM103MmaMXF4Op,
)
from triptych.cute.nvgpu.tcgen05.mma_operations import ScaledByteFloatsOfOneTypeOp as MmaMXF8Op
from triptych.cute.nvgpu.tcgen05.mma_operations import UmmaOp as MmaOp
from triptych.cute.nvgpu.tcgen05.scale_copies import Cp4x32x128bOp, get_s2t_smem_desc_tensor, make_s2t_copy
from triptych.cute.nvgpu.tcgen05.smem_descriptors import make_umma_smem_desc, tile_to_mma_shape
from triptych.cute.tensors.layout_orders import OperandMajorMode
from triptych.cute.tensors.tensor_memory import find_tmem_tensor_col_offset

__all__ = [
    "Cp4x32x128bOp",
    "CtaGroup",
    "Field",
    "Ld16x32bx2Op",
    "Ld16x64bOp",
    "Ld16x128bOp",
    "Ld16x256bOp",
    "Ld32x32bOp",
    "LdRed16x32bx2Op",
    "LdRed32x32bOp",
    "MmaF8F6F4Op",
    "MmaF16BF16Op",
    "MmaFP8Op",
    "MmaI8Op",
    "MmaMXF4NVF4Op",
    "MmaMXF4Op",
    "MmaMXF8F6F4Op",
    "MmaMXF8Op",
    "MmaOp",
    "MmaTF32Op",
    "OperandMajorMode",
    "OperandSource",
    "Pack",
    "Repetition",
    "SM103MmaMXF4NVF4Op",
    "SM103MmaMXF4Op",
    "SmemLayoutAtomKind",
    "St16x32bx2Op",
    "St16x64bOp",
    "St16x128bOp",
    "St16x256bOp",
    "St32x32bOp",
    "TmemLoadRedOp",
    "Unpack",
    "commit",
    "find_tmem_tensor_col_offset",
    "get_s2t_smem_desc_tensor",
    "get_tmem_copy_properties",
    "make_s2t_copy",
    "make_smem_layout_atom",
    "make_tmem_copy",
    "make_umma_smem_desc",
    "tile_to_mma_shape",
]

copy = mma = sys.modules[__name__]
"""Modules of the same names, by which public programs say them too."""


def __dir__() -> list[str]:
    return __all__
