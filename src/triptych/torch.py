"""PyTorch: operators made of `@jit` functions, and the names of `triptych.compat.torch`. Importing this imports it."""

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
from triptych.frameworks.torch_libraries import export, load
from triptych.frameworks.torch_operators import Operator, op

__all__ = [
    "GaussianInitConfig",
    "Operator",
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
    "export",
    "from_dlpack",
    "get_leading_dim",
    "load",
    "matrix",
    "op",
]


def __dir__() -> list[str]:
    return __all__
