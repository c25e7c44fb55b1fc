"""`triptych.compat.torch` under its shorter name. Importing this imports PyTorch."""

from __future__ import annotations

from triptych.compat.torch import (
    GaussianInitConfig,
    RandomInitConfig,
    ScalarInitConfig,
    TensorInitType,
    as_tensor,
    convert_cute_tensor,
    create_and_permute_torch_tensor,
    create_cute_tensor_for_fp8,
    current_stream,
    cute_tensor_like,
    default_stream,
    dtype,
    from_dlpack,
    get_leading_dim,
    matrix,
)

__all__ = [
    "GaussianInitConfig",
    "RandomInitConfig",
    "ScalarInitConfig",
    "TensorInitType",
    "as_tensor",
    "convert_cute_tensor",
    "create_and_permute_torch_tensor",
    "create_cute_tensor_for_fp8",
    "current_stream",
    "cute_tensor_like",
    "default_stream",
    "dtype",
    "from_dlpack",
    "get_leading_dim",
    "matrix",
]


def __dir__() -> list[str]:
    return __all__
