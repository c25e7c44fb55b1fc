"""What kernels are written with beside the language itself, under the name that public programs import."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from triptych.cute.latex_pictures import print_latex, print_latex_tv
from triptych.cute.memory.shared_memory import SmemAllocator
from triptych.cute.narrow_types import is_fp8_dtype
from triptych.cute.shared_capacity import get_smem_capacity_in_bytes
from triptych.cute.tensors.layout_orders import LayoutEnum
from triptych.support.forking import import_late

if TYPE_CHECKING:
    from triptych.torch import create_cute_tensor_for_fp8 as create_cute_tensor_for_fp8

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
        if name == "create_cute_tensor_for_fp8":
            return import_late("triptych.torch").create_cute_tensor_for_fp8
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return [*__all__, "create_cute_tensor_for_fp8"]
