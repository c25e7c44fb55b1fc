"""`triptych.compat.torch` under its shorter name. Importing this imports PyTorch."""

from __future__ import annotations

from triptych.compat.torch import create_cute_tensor_for_fp8, current_stream, default_stream, dtype

__all__ = ["create_cute_tensor_for_fp8", "current_stream", "default_stream", "dtype"]


def __dir__() -> list[str]:
    return __all__
