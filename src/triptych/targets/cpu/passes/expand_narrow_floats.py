"""Pass `expand-narrow-floats` of the CPU: what the expansion has to know of x86 and ARM.

Input: a traced module. Output: a module in which no operation on BFloat16, and none that rounds to Float16 by way of
another type, is left to LLVM, nor anything of fp8, fp6, fp4 and TF32.
"""

from __future__ import annotations

from triptych.ir.handles import Module, Operation
from triptych.ir.types import element_type, is_float
from triptych.kernel_ir.transforms.narrow_floats.expansion import expand_narrow_floats as expand
from triptych.kernel_ir.transforms.narrow_floats.operations import FloatMachine
from triptych.support.float_formats import SATURATE
from triptych.targets.cpu.calling.float_boundary import widen_boundary

_PATTERNS = frozenset({"arith.constant", "arith.bitcast", "vector.bitcast"})
"""What LLVM does right with the bits of 16-bit floats."""

_ROUNDS_TWICE = frozenset({"arith.truncf", "arith.sitofp", "arith.uitofp", "math.fma", "vector.fma"})
"""What LLVM may do to a Float16 in two steps, through Float32, each with its own rounding."""


class CpuFloats(FloatMachine):
    """Float16 is left to LLVM, except where it would round twice."""

    name = "the CPU"

    def does(self, operation: Operation, formats: frozenset[str]) -> bool:
        if formats == {"f16"}:
            return operation.name not in _ROUNDS_TWICE or _is_plain_half(operation)
        return operation.name in _PATTERNS


def expand_narrow_floats(module: Module) -> None:
    """Expand what crosses to Python, too."""
    with module.context:
        widen_boundary(module)
    expand(module, CpuFloats())


def _is_plain_half(operation: Operation) -> bool:
    """The one conversion to Float16 that is an instruction."""
    if operation.name != "arith.truncf" or SATURATE in operation.attributes:
        return False
    return is_float(element_type(operation.operands[0].type), 32)
