"""Pass `preserve-spin-loops`: a loop that waits for memory stays in the program.

Such a loop computes nothing, so compilers drop it or read its memory once; what it reads is marked volatile.
"""

from __future__ import annotations

from triptych.ir import bindings
from triptych.ir.handles import Module
from triptych.ir.modules import operations_named
from triptych.kernel_ir.analysis.spin_loops import spins

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
