"""Floor division: Python's `//` and `%` of signed run-time numbers, recognised in the operations they are traced to.

The form is the one that `metastage.arithmetic` emits: it corrects a quotient that was rounded toward zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from triptych.ir.handles import Operation, Value
from triptych.targets.nvptx.analysis.patterns import Term, match

_MINUS_ONE: Term = ("arith.cmpi eq", "divisor", -1)
_SAFE: Term = ("arith.select", _MINUS_ONE, 1, "divisor")
_REMAINDER: Term = ("arith.remsi", "dividend", _SAFE)
_QUOTIENT: Term = ("arith.select", _MINUS_ONE, ("arith.subi", 0, "dividend"), ("arith.divsi", "dividend", _SAFE))
_OPPOSITE: Term = ("arith.cmpi slt", ("arith.xori", _REMAINDER, "divisor"), 0)
_ADJUST: Term = ("arith.andi", ("arith.cmpi ne", _REMAINDER, 0), _OPPOSITE)
_FORMS: dict[str, Term] = {
    "//": ("arith.select", _ADJUST, ("arith.subi", _QUOTIENT, 1), _QUOTIENT),
    "%": ("arith.select", _ADJUST, ("arith.addi", _REMAINDER, "divisor"), _REMAINDER),
}

LAST_OF_FLOOR = "arith.select"


@dataclass(frozen=True, slots=True)
class FloorDivision:
    """One `//` or `%`, and the operation whose result it is."""

    name: str
    dividend: Value
    divisor: Value
    operation: Operation


def floor_division(select: Operation) -> FloorDivision | None:
    """The division that ends with this operation, a `LAST_OF_FLOOR`."""
    for name, form in _FORMS.items():
        named = match(select.result, form)
        if named is not None:
            return FloorDivision(name, named["dividend"], named["divisor"], select)
    return None
