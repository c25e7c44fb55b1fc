"""The builder calls of MLIR that public programs make for operations of their own: `cutlass._mlir`."""

from __future__ import annotations

from triptych.compat.mlir_builders import dialects, ir

__all__ = ["dialects", "ir"]


def __dir__() -> list[str]:
    return __all__
