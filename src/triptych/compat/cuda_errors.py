"""Errors of calls to CUDA that have no meaning where kernels run on the CPU."""

from __future__ import annotations

from typing import Any

from triptych.diagnostics.kernel_errors import DSLCudaRuntimeError
from triptych.support.errors import TriptychError


class CudaCallError(TriptychError, RuntimeError):
    """A program called a part of CUDA that has no meaning on the CPU, or gave it something that it cannot take."""

    code = "TT0712"
    failing = """
from triptych.compat.cuda_bindings import driver

driver.cuModuleLoadData(b"")
"""
    fixed = """
from triptych.compat.cuda_bindings import driver

driver.cuInit(0)
"""


class CudaStatusError(TriptychError, DSLCudaRuntimeError):
    """A call of CUDA gave another status than success; `error_code` is the status."""

    code = "TT0715"
    failing = """
from triptych.compat.cuda_bindings import runtime
from triptych.compat.cuda_checks import checkCudaErrors

checkCudaErrors((runtime.cudaError_t.cudaErrorInvalidValue,))
"""
    fixed = """
from triptych.compat.cuda_bindings import runtime
from triptych.compat.cuda_checks import checkCudaErrors

checkCudaErrors((runtime.cudaError_t.cudaSuccess,))
"""

    def __init__(self, title: str, *, error_code: int, **facts: Any) -> None:
        super().__init__(title, **facts)
        self.error_code = error_code
