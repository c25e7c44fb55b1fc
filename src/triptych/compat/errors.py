"""Errors of programs that import `cutlass`: a name that is not here, the other package, a call of CUDA without use."""

from __future__ import annotations

from typing import Any

from triptych.diagnostics.kernel_errors import DSLCudaRuntimeError
from triptych.support.errors import TriptychError


class NotHereYetError(TriptychError, AttributeError):
    """A module of the public language has a name that Triptych does not have yet; the error tells the tier of the name.

    It is an `AttributeError`, so `hasattr` and `getattr` with a default work.
    """

    code = "TT0706"


class NotImportableYetError(TriptychError, ImportError):
    """A program imports a public name, or a module, that Triptych does not have yet; the error tells its tier.

    It is an `ImportError`, so a program that can do without catches it.
    """

    code = "TT0707"


class OtherPackageError(TriptychError, RuntimeError):
    """The package `cutlass` itself is imported already, and one process cannot have two meanings of one name."""

    code = "TT0710"


class CudaCallError(TriptychError, RuntimeError):
    """A program called a part of CUDA that has no meaning on the CPU, or gave it something that it cannot take."""

    code = "TT0712"


class CudaStatusError(TriptychError, DSLCudaRuntimeError):
    """A call of CUDA gave another status than success; `error_code` is the status."""

    code = "TT0715"

    def __init__(self, title: str, *, error_code: int, **facts: Any) -> None:
        super().__init__(title, **facts)
        self.error_code = error_code
