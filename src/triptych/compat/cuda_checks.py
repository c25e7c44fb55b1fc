"""CUDA status codes: a call of the bindings is taken apart, its status checked, its result returned; and how a cubin is
loaded, which programs replace to see it.
"""

from __future__ import annotations

from typing import Any, NoReturn

from triptych.compat.errors import CudaCallError, CudaStatusError
from triptych.cute.tracing.eager import eager
from triptych.diagnostics.kernel_errors import DSLCudaRuntimeError

__all__ = ["DSLCudaRuntimeError", "checkCudaErrors", "load_cubin_module_data"]


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


@eager
def load_cubin_module_data(cubin_data: bytes) -> NoReturn:
    """Programs put a function here that writes a cubin to a file; Triptych loads its own cubins below this."""
    raise CudaCallError(
        "a program loads a cubin itself",
        found=f"a call of `load_cubin_module_data` with {len(cubin_data)} bytes",
        expected="`cute.compile`, which loads what it has compiled",
        instead="`compiled.__cubin__`, the bytes that were loaded",
    )
