"""PyTorch beside the language: element types, streams, and tensors as host programs prepare them.

Importing this imports PyTorch.
"""

from __future__ import annotations

from triptych.compat.cuda import CUstream
from triptych.compat.installed_torch import torch
from triptych.compat.torch_tensors import (
    GaussianInitConfig,
    RandomInitConfig,
    ScalarInitConfig,
    TensorInitType,
    as_tensor,
    convert_cute_tensor,
    create_and_permute_torch_tensor,
    cute_tensor_like,
    get_leading_dim,
    matrix,
)
from triptych.cute.runtime.dlpack import from_dlpack
from triptych.cute.runtime.element_conversion import create_cute_tensor_for_fp8
from triptych.cute.runtime.element_conversion import torch_dtype as dtype

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


def current_stream() -> CUstream:
    """The stream on which PyTorch queues work now, as launches take it; the default one where there is no CUDA."""
    return CUstream(torch.cuda.current_stream().cuda_stream if torch.cuda.is_available() else 0)


def default_stream() -> CUstream:
    """The stream of work that names none, as launches take it."""
    return CUstream(torch.cuda.default_stream().cuda_stream if torch.cuda.is_available() else 0)
