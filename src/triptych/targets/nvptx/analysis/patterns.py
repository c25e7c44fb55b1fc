"""Pattern matching on values: terms are tuples that are compared with operations; Python's floor division is one."""

from __future__ import annotations

from typing import Any, TypeAlias

from triptych.ir.handles import Operation, Value
from triptych.ir.types import word_of
from triptych.kernel_ir.dialects.kernel_operations import constant_of, defining_op
from triptych.support.dataclass import dataclass

Term: TypeAlias = "str | int | tuple[Any, ...]"
"""A name stands for any value, the same wherever it occurs; a number for a constant.

A tuple is an operation and its operands. Comparisons are named with their predicate, numbers of threads with their
dimension: `arith.cmpi slt`, `gpu.thread_id x`.
"""

_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def match(value: Value, *terms: Term) -> dict[str, Value] | None:
    """What the names of the first term that fits stand for; None if no term does."""
    for term in terms:
        named: dict[str, Value] = {}
        if _is(value, term, named):
            return named
    return None


def _is(value: Value, term: Term, named: dict[str, Value]) -> bool:
    if isinstance(term, str):
        return bool(named.setdefault(term, value) == value)
    if isinstance(term, int):
        return constant_of(value) == term
    operation = defining_op(value)
    if operation is None:
        return False
    name, *operands = term
    if not name.startswith(operation.name) or _name(operation) != name:
        return False
    return all(_is(operand, part, named) for operand, part in zip(operation.operands, operands, strict=True))


def _name(operation: Operation) -> str:
    if operation.name == "arith.cmpi":
        return f"{operation.name} {_PREDICATES[operation.attributes['predicate'].value]}"
    if operation.name.startswith("gpu.") and "dimension" in operation.attributes:
        return f"{operation.name} {word_of(operation.attributes['dimension'])}"
    return str(operation.name)


# Floor division: Python's `//` and `%` of signed run-time numbers, recognised in the operations they are traced to.
#
# The form is the one that `metastage.arithmetic` emits: it corrects a quotient that was rounded toward zero.

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
