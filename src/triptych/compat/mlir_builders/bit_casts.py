"""Bit casts of MLIR values: `cutlass._mlir_helpers.arith`."""

from __future__ import annotations

from typing import Any

from triptych.compat.mlir_builders.dialects import arith
from triptych.ir.handles import Type

__all__ = ["bitcast"]


def __dir__() -> list[str]:
    return __all__


def bitcast(src: object, res_elem_type: Type, *, loc: object = None, ip: object = None) -> Any:
    """The same bits as a number of another type."""
    return arith.bitcast(res_elem_type, src)
