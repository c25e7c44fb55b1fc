"""Whether all lanes of a warp access memory inside its bounds: asked of the first and the last address (debug builds).

Lanes a known distance apart are inside if the range of all of them is: two comparisons of numbers. Only where that
fails, lanes that are not active may be the reason, and each is asked.
"""

from __future__ import annotations

from triptych.diagnostics.runtime_errors import OutOfBoundsError
from triptych.ir.checks import ERROR_ATTRIBUTE
from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.dialects.kernel_operations import constant_of, defining_op
from triptych.targets.cpu.emit.warp import Warp

_AT_LEAST, _AT_MOST = 5, 3
"""Predicates of `arith.cmpi`: of signed numbers."""


def all_inside(warp: Warp, check: Operation) -> Value | None:
    """A number (i1) that is true only if every lane is inside; None for other checks, and other lanes."""
    attributes = check.attributes
    if ERROR_ATTRIBUTE not in attributes or attributes[ERROR_ATTRIBUTE].value != OutOfBoundsError.__name__:
        return None
    sides = _sides(check.operands[0])
    if sides is None:
        return None
    offset, limit = sides
    lanes = warp.analysis.at(offset)
    if not lanes.fixed or not warp.analysis.at(limit).uniform:
        return None
    code, differences = warp.code, lanes.offsets or (0,)
    least = code.value("arith.addi", (warp.scalar(offset), code.constant(min(differences), "i64")), "i64")
    span = code.constant(max(differences) - min(differences), "i64")
    most = code.value("arith.subi", (warp.scalar(limit), span), "i64")
    above = code.compare("sge", least, code.constant(0, "i64"))
    return code.value("arith.andi", (above, code.compare("sle", least, most)), "i1")


def _sides(condition: Value) -> tuple[Value, Value] | None:
    """Of `offset >= 0 and offset <= limit`: both numbers."""
    both = defining_op(condition)
    if both is None or both.name != "arith.andi":
        return None
    sides = [defining_op(operand) for operand in both.operands]
    if any(side is None or side.name != "arith.cmpi" for side in sides):
        return None
    low, high = sides
    assert low is not None
    assert high is not None
    predicates = [int(side.attributes["predicate"].value) for side in (low, high)]
    if predicates != [_AT_LEAST, _AT_MOST] or constant_of(low.operands[1]) != 0:
        return None
    return (high.operands[0], high.operands[1]) if low.operands[0] == high.operands[0] else None
