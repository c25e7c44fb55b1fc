"""PyTorch beside the language: its names of element types, and its streams. Importing this imports PyTorch."""

from __future__ import annotations

import torch

from triptych.cute.runtime.torch_types import create_cute_tensor_for_fp8
from triptych.cute.runtime.torch_types import torch_dtype as dtype

__all__ = ["create_cute_tensor_for_fp8", "current_stream", "default_stream", "dtype"]


def __dir__() -> list[str]:
    return __all__


def current_stream() -> int:
    """The stream on which PyTorch queues work now, as launches take it; 0 where there is no CUDA."""
    return torch.cuda.current_stream().cuda_stream if torch.cuda.is_available() else 0


def default_stream() -> int:
    """The stream of work that names none, as launches take it; 0 where there is no CUDA."""
    return torch.cuda.default_stream().cuda_stream if torch.cuda.is_available() else 0
