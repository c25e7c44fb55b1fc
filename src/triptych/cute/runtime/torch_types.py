"""Element types as PyTorch has them, and its memory as floats of eight bits. PyTorch is imported by the first call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triptych.cute.runtime.dlpack import RuntimeTensor, from_dlpack
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.values.scalars import Float8E4M3FN, Float8E5M2, Numeric, numeric_class
from triptych.support.forking import import_late

if TYPE_CHECKING:
    import torch

FP8 = (Float8E4M3FN, Float8E5M2)
"""The floats of eight bits that matrix instructions multiply."""

_SPELLED = {
    "Boolean": "bool",
    "TFloat32": "float32",
    "Float8E5M2": "float8_e5m2",
    "Float8E4M3FN": "float8_e4m3fn",
    "Float8E8M0FNU": "float8_e8m0fnu",
    "Float4E2M1FN": "float4_e2m1fn_x2",
}
"""How PyTorch calls types, where it is not the name in lower case. It packs two Float4E2M1FN into one element."""


def is_fp8_dtype(dtype: type[Numeric]) -> bool:
    """Whether elements of this type are operands of eight bits."""
    return dtype in FP8


def torch_dtype(ty: type[Numeric]) -> torch.dtype:
    """The type of PyTorch's tensors for elements of a numeric class; TFloat32 is stored as float32."""
    torch = import_late("torch")
    name = numeric_class(ty).__name__
    found = getattr(torch, _SPELLED.get(name, name.lower()), None)
    if not isinstance(found, torch.dtype):
        raise OperandTypeError(f"PyTorch has no type for {name}", found=name, expected="a type that PyTorch has")
    return found


def create_cute_tensor_for_fp8(
    storage_tensor: torch.Tensor,
    dtype: type[Numeric],
    leading_dim: int,
    source_f32_tensor: torch.Tensor | None = None,
) -> RuntimeTensor:
    """The memory of a tensor as elements of `dtype`, aligned to 16 bytes, filled with the rounded numbers of another.

    PyTorch fills and prints floats of eight bits through other types, so programs keep them as bytes.
    """
    elements = storage_tensor.view(torch_dtype(dtype)) if is_fp8_dtype(dtype) else storage_tensor
    if source_f32_tensor is not None and is_fp8_dtype(dtype):
        elements.copy_(source_f32_tensor.to(elements.dtype))
    return from_dlpack(elements, assumed_align=16).mark_layout_dynamic(leading_dim)
