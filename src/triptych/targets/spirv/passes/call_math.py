"""Pass `call-math`: functions of mathematics that no formula stands for are OpenCL's own.

Input: kernels behind `expand-math`: functions of Float64 are left, and what machines have instructions for. Output:
calls, of a vector one for each lane. What LLVM has an intrinsic for that SPIR-V knows stays.
"""

from __future__ import annotations

from functools import partial

from triptych.ir.expressions import element_and_lanes
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.targets.spirv import builtins

_SAME = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2"),
    *("expm1", "log", "log10", "log1p", "log2", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "ceil", "floor"),
    *("trunc", "round", "fma", "copysign"),
)
_NAMES = {
    **{f"math.{name}": name for name in _SAME},
    "math.absf": "fabs",
    "math.powf": "pow",
    "math.roundeven": "rint",
}
CALLED = frozenset(_NAMES)
"""What becomes a call."""


def call_math(module: Module) -> None:
    """Replace every such operation."""
    for kernel in kernels(module):
        replace_each(operations_named(kernel, *CALLED), partial(_called, kernel))


def _called(kernel: Operation, op: Replacement) -> list[Value]:
    kind = op.operation.results[0].type
    element, count = element_and_lanes(kind)
    name = builtins.function_of(_NAMES[op.operation.name], [element] * len(op.operands))
    if count is None:
        return [builtins.value_of(op.builder, kernel, name, op.operands, element)]
    lanes = [
        builtins.value_of(op.builder, kernel, name, [op.element(value, i, element) for value in op.operands], element)
        for i in range(count)
    ]
    return [op.value("vector.from_elements", lanes, kind)]
