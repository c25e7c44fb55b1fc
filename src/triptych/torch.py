"""PyTorch beside the language: its names of element types, and its streams. Importing this imports PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from triptych.cute.narrow_types import is_fp8_dtype
from triptych.cute.runtime.dlpack import RuntimeTensor, from_dlpack
from triptych.metastage.errors import OperandTypeError
from triptych.metastage.scalars import Numeric, numeric_class

__all__ = ["create_cute_tensor_for_fp8", "current_stream", "default_stream", "dtype"]

_SPELLED = {
    "Boolean": "bool",
    "TFloat32": "float32",
    "Float8E5M2": "float8_e5m2",
    "Float8E4M3FN": "float8_e4m3fn",
    "Float8E8M0FNU": "float8_e8m0fnu",
    "Float4E2M1FN": "float4_e2m1fn_x2",
}
"""How PyTorch calls types, where it is not the name in lower case. It packs two Float4E2M1FN into one element."""


def __dir__() -> list[str]:
    return __all__


def dtype(ty: type[Numeric]) -> torch.dtype:
    """The type of PyTorch's tensors for elements of a numeric class; TFloat32 is stored as float32."""
    name = numeric_class(ty).__name__
    found = getattr(torch, _SPELLED.get(name, name.lower()), None)
    if not isinstance(found, torch.dtype):
        raise OperandTypeError(f"PyTorch has no type for {name}", found=name, expected="a type that PyTorch has")
    return found


_type_in_memory = dtype
"""The function, where a parameter has its name."""


def current_stream() -> Any:
    """The stream on which PyTorch queues work now, as launches take it; 0 where there is no CUDA."""
    return torch.cuda.current_stream().cuda_stream if torch.cuda.is_available() else 0


def default_stream() -> Any:
    """The stream of work that names none, as launches take it; 0 where there is no CUDA."""
    return torch.cuda.default_stream().cuda_stream if torch.cuda.is_available() else 0


def create_cute_tensor_for_fp8(
    storage_tensor: torch.Tensor,
    dtype: type[Numeric],
    leading_dim: int,
    source_f32_tensor: torch.Tensor | None = None,
) -> RuntimeTensor:
    """The memory of a tensor as elements of `dtype`, aligned to 16 bytes, filled with the rounded numbers of another.

    PyTorch fills and prints floats of eight bits through other types, so programs keep them as bytes.
    """
    elements = storage_tensor.view(_type_in_memory(dtype)) if is_fp8_dtype(dtype) else storage_tensor
    if source_f32_tensor is not None and is_fp8_dtype(dtype):
        elements.copy_(source_f32_tensor.to(elements.dtype))
    return from_dlpack(elements, assumed_align=16).mark_layout_dynamic(leading_dim)
