"""The result codes that calls of CUDA begin their answers with, as exceptions."""

from __future__ import annotations

from typing import Any

from triptych.support.kernel_errors import DSLCudaRuntimeError

__all__ = ["DSLCudaRuntimeError", "checkCudaErrors"]


def checkCudaErrors(result: tuple[Any, ...]) -> Any:
    """What a call of CUDA gives beside its result code: nothing, one thing, or several; raises if it failed."""
    code, *rest = result
    if int(code) != 0:
        failed = DSLCudaRuntimeError(f"a call of CUDA failed: {getattr(code, 'name', code)} ({int(code)})")
        failed.error_code = int(code)
        raise failed
    return rest[0] if len(rest) == 1 else tuple(rest) or None
