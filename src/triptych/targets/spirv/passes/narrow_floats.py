"""Pass `expand-narrow-floats` for OpenCL: Float16 is its own, all narrower floats and BFloat16 are bits."""

from __future__ import annotations

from triptych.ir.handles import Module, Operation
from triptych.kernel_ir.transforms.narrow_floats.expansion import expand_narrow_floats as expand
from triptych.kernel_ir.transforms.narrow_floats.operations import FloatMachine
from triptych.support.float_formats import SATURATE

_PATTERNS = frozenset({"arith.constant", "arith.bitcast", "vector.bitcast"})
"""What is right whatever the bits mean."""
_ROUNDS = frozenset({"arith.truncf", "arith.sitofp", "arith.uitofp", "math.fma", "vector.fma"})
"""What a compiler may do in two steps, each with a rounding of its own."""


class OpenClFloats(FloatMachine):
    """A machine with numbers of 16, 32 and 64 bits."""

    name = "OpenCL"

    def does(self, operation: Operation, formats: frozenset[str]) -> bool:
        if formats == {"f16"}:
            return operation.name not in _ROUNDS and SATURATE not in operation.attributes
        return operation.name in _PATTERNS


def expand_narrow_floats(module: Module) -> bool:
    """Of all kernels."""
    return expand(module, OpenClFloats())
