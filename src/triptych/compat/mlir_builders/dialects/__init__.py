"""Builder calls by dialect: `cutlass._mlir.dialects`."""

from __future__ import annotations

from triptych.compat.mlir_builders.dialects import builtin, cute, cute_nvgpu, llvm, math, nvvm, vector

__all__ = ["builtin", "cute", "cute_nvgpu", "llvm", "math", "nvvm", "vector"]


def __dir__() -> list[str]:
    return __all__
