"""`triptych.cute.utils` under its shorter name, which public programs import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from triptych.cute import utils as _utils
from triptych.cute.utils import (
    LayoutEnum,
    SmemAllocator,
    get_smem_capacity_in_bytes,
    is_fp8_dtype,
    print_latex,
    print_latex_tv,
)

if TYPE_CHECKING:
    from triptych.cute.utils import create_cute_tensor_for_fp8 as create_cute_tensor_for_fp8

__all__ = [
    "LayoutEnum",
    "SmemAllocator",
    "get_smem_capacity_in_bytes",
    "is_fp8_dtype",
    "print_latex",
    "print_latex_tv",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """What needs PyTorch is loaded when it is named."""
        return getattr(_utils, name)


def __dir__() -> list[str]:
    return [*__all__, "create_cute_tensor_for_fp8"]
