"""Passes `take-tensor-maps`, `pass-tensor-maps`: kernels receive tensor maps themselves, not pointers to them.

Traced kernels mark such arguments; so do, between the two passes, the kernel and its launch, by the places among the
arguments: arguments may be added, and only functions of LLVM can say how one is passed. The 128 bytes lie among the
parameters of a kernel, where copies of boxes read them; nobody makes a copy in the memory of a thread.
"""

from __future__ import annotations

from triptych.ir import bindings
from triptych.ir.handles import Attribute, Module, Operation
from triptych.ir.launch import MAPS, launches
from triptych.kernel_ir.dialects.tile import TENSOR_MAP_ARGUMENT, TENSOR_MAP_BYTES
from triptych.targets.nvptx.analysis.kernels import kernels

_ARGUMENTS = "arg_attrs"
_PASSED = {
    "llvm.byval": f"!llvm.array<{TENSOR_MAP_BYTES} x i8>",
    "llvm.align": "64 : i64",
    "nvvm.grid_constant": "unit",
}


def take_tensor_maps(module: Module) -> None:
    """Mark kernels and launches by what the kernels' arguments say."""
    ir = bindings.mlir()
    found: dict[str, Attribute] = {}
    with module.context:
        for kernel in kernels(module):
            places = _marked(kernel)
            if places:
                mark = found[kernel.attributes["sym_name"].value] = ir.DenseI32ArrayAttr.get(places)
                kernel.attributes[MAPS] = mark
        for launch in launches(module) if found else ():
            if launch.kernel in found:
                launch.operation.attributes[MAPS] = found[launch.kernel]


def _marked(kernel: Operation) -> list[int]:
    """The places of the marked arguments, of which nothing else is said here."""
    if _ARGUMENTS not in kernel.attributes:
        return []
    ir = bindings.mlir()
    each = [ir.DictAttr(one) for one in ir.ArrayAttr(kernel.attributes[_ARGUMENTS])]
    del kernel.attributes[_ARGUMENTS]
    return [place for place, said in enumerate(each) if TENSOR_MAP_ARGUMENT in said]


def pass_tensor_maps(module: Module) -> None:
    """Say of each map how it is passed, beside what is known of the other arguments."""
    ir = bindings.mlir()
    with module.context:
        for kernel in kernels(module, "llvm.func"):
            if MAPS not in kernel.attributes:
                continue
            places = set(ir.DenseI32ArrayAttr(kernel.attributes[MAPS]))
            passed = ir.DictAttr.get({name: ir.Attribute.parse(text) for name, text in _PASSED.items()})
            known = list(ir.ArrayAttr(kernel.attributes[_ARGUMENTS])) if _ARGUMENTS in kernel.attributes else []
            count = len(kernel.regions[0].blocks[0].arguments)
            known += [ir.DictAttr.get({})] * (count - len(known))
            kernel.attributes[_ARGUMENTS] = ir.ArrayAttr.get(
                [passed if place in places else said for place, said in enumerate(known)]
            )
            del kernel.attributes[MAPS]
