"""What kernels are written with beside the language itself, under the name that public programs import."""

from __future__ import annotations

from triptych.cute.latex_pictures import print_latex, print_latex_tv
from triptych.cute.memory.shared_capacity import get_smem_capacity_in_bytes
from triptych.cute.runtime.torch_types import create_cute_tensor_for_fp8, is_fp8_dtype
from triptych.cute.tensors.layout_orders import LayoutEnum
from triptych.cute.tensors.shared_memory import SmemAllocator

__all__ = [
    "LayoutEnum",
    "SmemAllocator",
    "create_cute_tensor_for_fp8",
    "get_smem_capacity_in_bytes",
    "is_fp8_dtype",
    "print_latex",
    "print_latex_tv",
]


def __dir__() -> list[str]:
    return __all__
