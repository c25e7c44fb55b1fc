"""Pass `expand-narrow-floats` for AMD: which operations on narrow floats the machine does itself.

Float16 is its own. BFloat16 is a format of memory and of matrix instructions: LLVM would compute in Float32 and round
each result once more, which for a product with a sum is not what one rounding gives; so the formulas do it. Narrower
formats are bytes, converted by formulas.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.handles import Module, Operation
from triptych.ir.types import element_type, is_integer
from triptych.kernel_ir.transforms.narrow_floats.expansion import expand_narrow_floats
from triptych.kernel_ir.transforms.narrow_floats.operations import FloatMachine
from triptych.support.float_formats import SATURATE

_FROM_INTEGERS = frozenset({"arith.sitofp", "arith.uitofp"})
_MOVES = frozenset({"arith.bitcast", "arith.select", "arith.constant", "arith.extf"})
"""What is exact in any format."""


class AmdFloats(FloatMachine):
    """All chips alike."""

    name = "AMD GPUs"

    def does(self, operation: Operation, formats: frozenset[str]) -> bool:
        if SATURATE in operation.attributes:
            return False
        if operation.name in _FROM_INTEGERS and is_integer(element_type(operation.operands[0].type), 128):
            return False
        return formats <= {"f16"} or operation.name in _MOVES


def expanding() -> Callable[[Module], bool]:
    """The pass."""
    machine = AmdFloats()

    def expand(module: Module) -> bool:
        return expand_narrow_floats(module, machine)

    return expand
