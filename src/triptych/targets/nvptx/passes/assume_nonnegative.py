"""Passes `mark-extents`, `assume-nonnegative`: LLVM learns which arguments of kernels are never negative.

Extents and strides of tensors are checked when the host function is called; so a division by one of them needs no
correction of signs. MLIR integers have no sign of their own to say so. Only launches tell what an argument is, and only
functions of LLVM can say it: the kernel carries it in between.
"""

from __future__ import annotations

from triptych.ir import bindings
from triptych.ir.handles import Module, Operation, Type
from triptych.ir.launch import launches
from triptych.ir.modules import signature_of
from triptych.ir.types import int_width, type_text
from triptych.targets.nvptx.analysis.extents import extents_given
from triptych.targets.nvptx.analysis.kernels import kernels

_EXTENTS = "triptych.extents"
"""On a kernel: for each argument, whether it is the extent or the stride of a tensor."""


def mark_extents(module: Module) -> None:
    """Mark the arguments of each kernel that its launch takes over from the host function's tensors."""
    signature = signature_of(module)
    found = {kernel.attributes["sym_name"].value: kernel for kernel in kernels(module)}
    for launch in launches(module):
        extents = extents_given(module, signature, launch)
        found[launch.kernel].attributes[_EXTENTS] = bindings.mlir().DenseBoolArrayAttr.get(extents)


def assume_nonnegative(module: Module) -> None:
    """State the range of every marked argument."""
    for kernel in kernels(module, "llvm.func"):
        if _EXTENTS in kernel.attributes:
            _state(kernel, list(bindings.mlir().DenseBoolArrayAttr(kernel.attributes[_EXTENTS])))
            del kernel.attributes[_EXTENTS]


def _state(kernel: Operation, bounded: list[bool]) -> None:
    ir = bindings.mlir()
    with kernel.context:
        types = [argument.type for argument in kernel.regions[0].blocks[0].arguments]
        ranges = [_not_negative(kind) if known else "{}" for kind, known in zip(types, bounded, strict=True)]
        kernel.attributes["arg_attrs"] = ir.Attribute.parse(f"[{', '.join(ranges)}]")


def _not_negative(kind: Type) -> str:
    bits = int_width(kind)
    assert bits is not None, kind
    return f"{{llvm.range = #llvm.constant_range<{type_text(kind)}, 0, {1 << bits - 1}>}}"
