"""Pass `widen-bfloats`: a pair of BFloat16 in one register becomes two Float32 by one instruction each.

A BFloat16 is the upper half of a Float32. LLVM takes the two of a register apart before it converts each: of the upper
one nothing has to be moved, only the lower one has to go.
"""

from __future__ import annotations

from triptych.ir.handles import Module, Value
from triptych.ir.modules import operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import count_and_element, lanes
from triptych.kernel_ir.dialects.kernel_operations import defining_op
from triptych.targets.nvptx.analysis.kernels import kernels

WIDENINGS = frozenset({"arith.extf"})
_PAIR = "vector<2xbf16>"
_UPPER_HALF = 0xFFFF0000


def widen_bfloats(module: Module) -> None:
    """Replace the conversions of vectors; one number by itself is in no pair."""
    for kernel in kernels(module):
        replace_each(operations_named(kernel, *WIDENINGS), _by_pairs)


def _by_pairs(op: Replacement) -> list[Value] | None:
    result = op.operation.results[0].type
    source, wide = (count_and_element(kind) for kind in (op.operands[0].type, result))
    if source is None or wide is None or (str(source[1]), str(wide[1])) != ("bf16", "f32") or source[0] % 2:
        return None
    numbers = [number for first in range(0, source[0], 2) for number in _pair(op, first)]
    return [op.value("vector.from_elements", numbers, result)]


def _pair(op: Replacement, first: int) -> list[Value]:
    both = op.value("llvm.bitcast", (_register(op, first),), "i32")
    halves = (
        op.value("arith.shli", (both, op.integer("i32", 16)), "i32"),
        op.value("arith.andi", (both, op.integer("i32", _UPPER_HALF)), "i32"),
    )
    return [op.value("arith.bitcast", (half,), "f32") for half in halves]


def _register(op: Replacement, first: int) -> Value:
    """Two neighbours of the vector; LLVM need not look for the elements of one that was made of them here."""
    vector = op.operands[0]
    if lanes(vector.type) == 2:
        return vector
    made_by = defining_op(vector)
    if made_by is not None and made_by.name == "vector.from_elements":
        return op.value("vector.from_elements", tuple(made_by.operands)[first : first + 2], _PAIR)
    mask = {"mask": op.attribute(f"array<i64: {first}, {first + 1}>")}
    return op.value("vector.shuffle", (vector, vector), _PAIR, mask)
