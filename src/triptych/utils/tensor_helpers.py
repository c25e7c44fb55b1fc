"""Tensors of eight-bit floats, under the name that public programs import."""

from __future__ import annotations

from triptych.cute.runtime.element_conversion import create_cute_tensor_for_fp8, is_fp8_dtype

__all__ = ["create_cute_tensor_for_fp8", "is_fp8_dtype"]


def __dir__() -> list[str]:
    return __all__
