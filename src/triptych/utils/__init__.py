"""`triptych.compat.utils` under its shorter name."""

from __future__ import annotations

from triptych.compat.utils import (
    HardwareInfo,
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
