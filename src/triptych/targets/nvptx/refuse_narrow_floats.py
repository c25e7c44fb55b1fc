"""Pass `refuse-narrow-floats`: floats of fewer than 16 bits, and of 19, have no lowering to this target yet."""

from __future__ import annotations

import re
from typing import Any

from triptych.ir import bindings
from triptych.ir.errors import LoweringError
from triptych.ir.location import place_of
from triptych.support.float_formats import FLOAT_FORMATS
from triptych.targets.nvptx.kernels import kernels

_NARROW = re.compile(rf"(?:\b|x)({'|'.join(FLOAT_FORMATS.keys() - {'f16', 'bf16'})})\b")


def refuse_narrow_floats(module: Any) -> None:
    """Raise at the first operation that makes one."""
    ir = bindings.mlir()
    found: list[tuple[Any, str]] = []
    fine: set[Any] = set()  # types that were looked at: there are few, and many values

    def visit(operation: Any) -> Any:
        for result in operation.results:
            kind = result.type
            if kind in fine:
                continue
            narrow = _NARROW.search(str(kind))
            if narrow is None:
                fine.add(kind)
            else:
                found.append((operation.operation, narrow[1]))
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    for kernel in kernels(module):
        kernel.walk(visit)
    for operation, kind in found[:1]:
        raise LoweringError(
            f"the NVIDIA target has no {kind} yet",
            span=place_of(operation),
            found=f"a value of type {kind} in a kernel",
            expected="f16, bf16, f32 or f64",
            instead="a conversion on the host, or the CPU target",
        )
