"""Errors of calls to CUDA that have no meaning where kernels run on the CPU."""

from __future__ import annotations

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
