"""CUDA status codes: a call of the bindings is taken apart, its status checked, its result returned."""

from __future__ import annotations

from typing import Any

from triptych.compat.errors import CudaStatusError
from triptych.cute.tracing.eager import eager
from triptych.diagnostics.kernel_errors import DSLCudaRuntimeError

__all__ = ["DSLCudaRuntimeError", "checkCudaErrors"]


def __dir__() -> list[str]:
    return __all__


@eager
def checkCudaErrors(result: tuple[Any, ...]) -> Any:
    """The results behind the status of a call: None, one, or a tuple of several; a status that is no success raises."""
    status, *results = result
    if int(status):
        raise CudaStatusError(
            "a call of CUDA has failed",
            found=f"the status {getattr(status, 'name', int(status))}",
            expected="0, which is success",
            error_code=int(status),
        )
    return tuple(results) if len(results) > 1 else results[0] if results else None
