"""Pass `size-inline-addresses`: inline PTX gets an address in a register of the size that it names.

Addresses of shared memory have 32 bits in generated code, and whoever wrote PTX may have asked for 64: LLVM would leave
the upper half undefined.
"""

from __future__ import annotations

from triptych.ir.builder import builder_before
from triptych.ir.handles import Module, Operation
from triptych.ir.modules import operations_named
from triptych.ir.types import CLUSTER_SPACE, SHARED_SPACE, memory_space
from triptych.targets.nvptx.analysis.kernels import kernels
from triptych.targets.nvptx.passes.check_inline_ptx import INLINE

_INTEGERS = {"l": "i64", "r": "i32"}


def size_inline_addresses(module: Module) -> None:
    """Hand over every address of shared memory as an integer."""
    for kernel in kernels(module, "llvm.func"):
        for operation in operations_named(kernel, *INLINE):
            _size_addresses(operation)


def _size_addresses(operation: Operation) -> None:
    constraints = operation.attributes["constraints"].value.split(",")
    letters = [letter for letter in constraints if letter and not letter.startswith(("=", "~"))]
    for place, (letter, operand) in enumerate(zip(letters, list(operation.operands), strict=True)):
        if letter in _INTEGERS and memory_space(operand.type) in (SHARED_SPACE, CLUSTER_SPACE):
            builder = builder_before(operation)
            kind = builder.type(_INTEGERS[letter])
            operation.operands[place] = builder.value("llvm.ptrtoint", (operand,), kind, location=operation.location)
