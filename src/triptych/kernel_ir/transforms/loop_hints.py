"""Passes `hint-loops` and `annotate-loops`: what a program says of a loop reaches LLVM.

Upstream conversions carry an annotation as an attribute that the translation to LLVM IR does not look at, so it is
written before loops become branches, and moved to its place after.
"""

from __future__ import annotations

from triptych.ir import bindings
from triptych.ir.handles import Module
from triptych.ir.modules import functions, operations_named

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
