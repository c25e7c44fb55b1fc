"""`triptych.cute.utils` under its shorter name, which public programs import."""

from __future__ import annotations

from typing import Any

from triptych.cute import utils as _utils
from triptych.cute.utils import (
    LayoutEnum,
    SmemAllocator,
    get_smem_capacity_in_bytes,
    is_fp8_dtype,
    print_latex,
    print_latex_tv,
)

__all__ = [
    "LayoutEnum",
    "SmemAllocator",
    "get_smem_capacity_in_bytes",
    "is_fp8_dtype",
    "print_latex",
    "print_latex_tv",
]


def __getattr__(name: str) -> Any:
    return getattr(_utils, name)
