"""Tensors of eight-bit floats, under the name that public programs import. Importing this imports PyTorch."""

from __future__ import annotations

from triptych.cute.narrow_types import is_fp8_dtype
from triptych.torch import create_cute_tensor_for_fp8

__all__ = ["create_cute_tensor_for_fp8", "is_fp8_dtype"]
