"""Errors of calls to CUDA that have no meaning where kernels run on the CPU."""

from __future__ import annotations

from typing import Any

from triptych.diagnostics.kernel_errors import DSLCudaRuntimeError
from triptych.support.errors import TriptychError


class CudaCallError(TriptychError, RuntimeError):
    """A program called a part of CUDA that has no meaning on the CPU, or gave it something that it cannot take."""

    code = "TT0712"


class CudaStatusError(TriptychError, DSLCudaRuntimeError):
    """A call of CUDA gave another status than success; `error_code` is the status."""

    code = "TT0715"

    def __init__(self, title: str, *, error_code: int, **facts: Any) -> None:
        super().__init__(title, **facts)
        self.error_code = error_code
