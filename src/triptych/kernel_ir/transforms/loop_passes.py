"""Loop passes: `hint-loops` and `annotate-loops` bring what a program says of a loop to LLVM, `preserve-spin-loops`
keeps a loop that waits for memory.
"""

from __future__ import annotations

from triptych.ir import bindings
from triptych.ir.handles import Module
from triptych.ir.modules import functions, operations_named
from triptych.kernel_ir.analysis.spin_loops import spins

CARRIED = "llvm.loop_annotation"
_TRANSLATED = "loop_annotation"
COUNTED = frozenset({"scf.for"})
_UNROLL, _VECTORIZE = "triptych.unroll", "triptych.vectorize"


def hint_loops(module: Module) -> None:
    """Write the hints of `range(..., unroll=, vectorize=)` as LLVM reads them."""
    for loop in operations_named(module, *COUNTED):
        hints = []
        if _UNROLL in loop.attributes:
            count = loop.attributes[_UNROLL].value
            hints.append("unroll = <disable = true>" if count == 1 else f"unroll = <count = {count} : i32>")
        if _VECTORIZE in loop.attributes:
            hints.append("vectorize = <disable = false>")
        if hints:
            annotation = f"#llvm.loop_annotation<{', '.join(hints)}>"
            loop.attributes[CARRIED] = bindings.mlir().Attribute.parse(annotation, context=module.context)


def annotate_loops(module: Module) -> None:
    """Move the annotation to its place on every branch that closes a loop."""
    for function in functions(module, "llvm.func"):
        for block in function.regions[0].blocks:
            branch = block.operations[len(block.operations) - 1]
            if CARRIED in branch.attributes:
                branch.attributes[_TRANSLATED] = branch.attributes[CARRIED]
                del branch.attributes[CARRIED]


LOOPS = frozenset({"scf.while"})
"""Only such a loop waits."""


def preserve_spin_loops(module: Module) -> None:
    """Mark what the loops of kernels wait for."""
    ir = bindings.mlir()
    for kernel in operations_named(module, "gpu.func"):
        for loop in operations_named(kernel, *LOOPS):
            if not spins(loop):
                continue
            for load in operations_named(loop, "llvm.load"):
                load.attributes["volatile_"] = ir.UnitAttr.get(module.context)
