"""`triptych.cute.utils` under the name that public programs import, with what only host programs ask for."""

from __future__ import annotations

from triptych.compat.utils.hardware_info import HardwareInfo
from triptych.cute.utils import (
    LayoutEnum,
    SmemAllocator,
    create_cute_tensor_for_fp8,
    get_smem_capacity_in_bytes,
    is_fp8_dtype,
    print_latex,
    print_latex_tv,
)

__all__ = [
    "HardwareInfo",
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
