"""Passes `hoist-allocas`, `unroll-array-loops`: private memory of a thread is reserved once, and stays in registers."""

from __future__ import annotations

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.dialects.kernel_operations import constant_of, defining_op
from triptych.kernel_ir.transforms.loop_passes import CARRIED

# Pass `hoist-allocas`: memory of a thread is reserved once, when its kernel begins.
#
# Upstream reserves the arguments of `vprintf` where a kernel prints, which in a loop takes more memory in every turn.


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


# Pass `unroll-array-loops`: loops that pick elements of a private array by their counter are written out.
#
# Registers have no addresses: an array stays in them only while every index is a constant. One index that is not sends
# the array to memory, which is hundreds of times as slow, so this is worth any number of instructions within reason.

ARRAYS = frozenset({"llvm.alloca"})
"""What private arrays are made by."""
MOST_TURNS = 256
"""Longer loops would become more code than an instruction cache holds."""
_WRITTEN_OUT = "#llvm.loop_annotation<unroll = <full = true>>"


def unroll_array_loops(module: Module) -> None:
    """Mark the loops around every access whose index is not a constant; a program's own hint is respected."""
    annotation = bindings.mlir().Attribute.parse(_WRITTEN_OUT, context=module.context)
    for kernel in kernels(module):
        for address in operations_named(kernel, "llvm.getelementptr"):
            if len(address.operands) > 1 and _is_private(address.operands[0]):
                for loop in _loops_around(address):
                    if CARRIED not in loop.attributes and _turns(loop) <= MOST_TURNS:
                        loop.attributes[CARRIED] = annotation


def _is_private(pointer: Value) -> bool:
    made_by = defining_op(pointer)
    return made_by is not None and made_by.name in ARRAYS


def _loops_around(operation: Operation) -> list[Operation]:
    found = []
    around = operation.parent
    while around is not None and around.name != "gpu.func":
        found += [around.operation] if around.name == "scf.for" else []
        around = around.parent
    return found


def _turns(loop: Operation) -> int:
    """How often it runs; more than any limit when only the run knows."""
    start, stop, step = (constant_of(loop.operands[i]) for i in range(3))
    if start is None or stop is None or not step:
        return MOST_TURNS + 1
    return max(0, -(-(stop - start) // step))
