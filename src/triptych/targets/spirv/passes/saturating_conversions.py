"""Pass `expand-saturating-conversions`: floats to integers that keep what is too large at the ends of the range.

OpenCL has such conversions, but a runtime need not have all of them: comparisons say which number it is.
"""

from __future__ import annotations

from triptych.ir.expressions import Expression, element_and_lanes, select, vector_type
from triptych.ir.handles import Module, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.passes import Replacement, replace_each

INTRINSICS = frozenset({"llvm.call_intrinsic", "llvm.fptosi.sat", "llvm.fptoui.sat"})
"""How such a conversion may be written."""
_SIGNED, _UNSIGNED = "llvm.fptosi.sat", "llvm.fptoui.sat"


def expand_saturating_conversions(module: Module) -> None:
    """Of all kernels."""
    for kernel in kernels(module):
        replace_each(operations_named(kernel, *INTRINSICS), _expanded)


def _expanded(op: Replacement) -> list[Value] | None:
    operation = op.operation
    name = operation.attributes["intrin"].value if operation.name == "llvm.call_intrinsic" else operation.name
    if not name.startswith((_SIGNED, _UNSIGNED)):
        return None
    signed = name.startswith(_SIGNED)
    value = Expression(op.builder, op.operands[0], *element_and_lanes(op.operands[0].type))
    element, lanes = element_and_lanes(operation.results[0].type)
    bits = int(element[1:])
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    kind = vector_type(element, lanes)
    made = op.value("arith.fptosi" if signed else "arith.fptoui", (value.value,), kind)
    found = Expression(op.builder, made, element, lanes)
    largest = high - 1 if signed else -1  # all bits
    found = select(value >= float(high), largest, found)
    found = select(value > float(low), found, low)
    return [select(value.differs(value), 0, found).value]
