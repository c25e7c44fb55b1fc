"""Pass `hoist-allocas`: memory of a thread is reserved once, when its kernel begins.

Upstream reserves the arguments of `vprintf` where a kernel prints, which in a loop takes more memory in every turn.
"""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.handles import Module
from triptych.ir.modules import operations_named
from triptych.kernel_ir.dialects.kernel_operations import defining_op
from triptych.targets.nvptx.analysis.kernels import kernels


def hoist_allocas(module: Module) -> None:
    """Move every `llvm.alloca` of constant size, and its size, to the start of its function."""
    builder = Builder(module.context)
    for function in kernels(module, "llvm.func"):
        blocks = list(function.regions[0].blocks)
        for alloca in operations_named(function, "llvm.alloca") if len(blocks) > 1 else ():
            count = defining_op(alloca.operands[0])
            if count is None or count.name != "llvm.mlir.constant":
                continue
            size = count.clone(builder.at_start(blocks[0]))
            alloca.operands[0] = size.results[0]
            alloca.move_after(size)
