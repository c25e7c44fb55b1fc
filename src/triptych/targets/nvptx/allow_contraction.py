"""Pass `allow-contraction`: a multiplication and an addition may become one instruction with one rounding.

As every compiler for GPUs does, and as the CPU target does with the same kernels. All else keeps its rounding.
"""

from __future__ import annotations

from typing import Any

from triptych.ir import bindings
from triptych.ir.modules import operations_named
from triptych.targets.nvptx.kernels import kernels

_CONTRACTED = ("arith.addf", "arith.mulf", "arith.subf")
_NOTHING = "#arith.fastmath<none>"


def allow_contraction(module: Any) -> None:
    """Set the flag on operations that state no liberties of their own."""
    allowed = bindings.mlir().Attribute.parse("#arith.fastmath<contract>", module.context)
    for kernel in kernels(module):
        for operation in operations_named(kernel, *_CONTRACTED):
            if str(operation.attributes["fastmath"]) == _NOTHING:
                operation.attributes["fastmath"] = allowed
