"""Pass `bound-extents`: LLVM learns which arguments of kernels are never negative.

Extents and strides of tensors are checked when the host function is called; so a division by one of them needs no
correction of signs. MLIR integers have no sign of their own to say so.
"""

from __future__ import annotations

from typing import Any

from triptych.ir import bindings
from triptych.ir.launch import launches
from triptych.ir.signature import signature_of
from triptych.targets.nvptx.extents import extents_given
from triptych.targets.nvptx.kernels import kernels


def bound_extents(module: Any) -> None:
    """State the range of every argument that a launch takes over from the host function's tensors."""
    of_kernels = {launch.kernel: launch for launch in launches(module)}
    if not of_kernels:
        return
    signature = signature_of(module)
    for kernel in kernels(module, "llvm.func"):
        launch = of_kernels.get(kernel.attributes["sym_name"].value)
        if launch is not None:
            _state(kernel, extents_given(module, signature, launch))


def _state(kernel: Any, bounded: list[bool]) -> None:
    ir = bindings.mlir()
    with kernel.context:
        types = [str(argument.type) for argument in kernel.regions[0].blocks[0].arguments]
        ranges = [_not_negative(kind) if known else "{}" for kind, known in zip(types, bounded, strict=True)]
        kernel.attributes["arg_attrs"] = ir.Attribute.parse(f"[{', '.join(ranges)}]")


def _not_negative(kind: str) -> str:
    return f"{{llvm.range = #llvm.constant_range<{kind}, 0, {1 << (int(kind[1:]) - 1)}>}}"
