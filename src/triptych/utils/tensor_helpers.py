"""`triptych.compat.utils.tensor_helpers` under its shorter name."""

from __future__ import annotations

from triptych.compat.utils.tensor_helpers import create_cute_tensor_for_fp8, is_fp8_dtype

__all__ = ["create_cute_tensor_for_fp8", "is_fp8_dtype"]


def __dir__() -> list[str]:
    return __all__
