"""Constant folding of integers that follow from trip counts of loops."""

from __future__ import annotations

import operator
from collections.abc import Callable

from triptych.ir.handles import Operation, Value
from triptych.ir.types import int_width
from triptych.kernel_ir.dialects.kernel_operations import constant_of, defining_op

Numbers = dict[Value, int]
"""What counters of loops are, in the turn that is looked at."""

_MOST_DEPTH = 24
_SIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.minsi": min,
    "arith.maxsi": max,
}
_OF_NATURALS: dict[str, Callable[[int, int], int]] = {
    "arith.divui": operator.floordiv,
    "arith.divsi": operator.floordiv,
    "arith.floordivsi": operator.floordiv,
    "arith.remui": operator.mod,
    "arith.remsi": operator.mod,
    "arith.shrui": operator.rshift,
    "arith.shrsi": operator.rshift,
    "arith.shli": operator.lshift,
}
"""Where both are at least zero, and the second is not zero where it divides."""
_CASTS = frozenset(
    {"arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui"},
)
_COMPARISONS: tuple[Callable[[int, int], bool], ...] = (
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.lt, operator.le, operator.gt, operator.ge),
)
_FIRST_UNSIGNED = 6
_MOST_SHIFT = 32


def number_of(value: Value, numbers: Numbers, depth: int = 0) -> int | None:
    """The integer that a value is in this turn; None where only a run tells, or the number is outside its type."""
    if value in numbers:
        return numbers[value]
    made = defining_op(value)
    if made is None or depth > _MOST_DEPTH or len(made.results) != 1:
        return None
    if made.name == "arith.constant":
        return constant_of(value)
    operands = [number_of(operand, numbers, depth + 1) for operand in _operands(made)]
    found = [each for each in operands if each is not None]
    if not operands or len(found) != len(operands):
        return None
    result, width = _computed(made, found), int_width(value.type)
    if result is None or width is None:
        return None
    low, high = (0, 2) if width == 1 else (-(1 << (width - 1)), 1 << (width - 1))
    return result if low <= result < high else None


def _operands(made: Operation) -> list[Value]:
    known = made.name in _SIGNED or made.name in _OF_NATURALS or made.name in _CASTS or made.name == "arith.cmpi"
    return list(made.operands) if known else []


def _computed(made: Operation, found: list[int]) -> int | None:
    name = made.name
    if name in _CASTS:
        is_truth = int_width(made.operands[0].type) == 1 and name == "arith.extsi"
        return found[0] if not is_truth and (found[0] >= 0 or name in ("arith.extsi", "arith.index_cast")) else None
    if name in _SIGNED:
        return _SIGNED[name](*found)
    if name == "arith.cmpi":
        predicate = int(made.attributes["predicate"].value)
        fits = predicate < _FIRST_UNSIGNED or min(found) >= 0
        return int(_COMPARISONS[predicate](*found)) if fits else None
    one, other = found
    shifts = name in ("arith.shli", "arith.shrui", "arith.shrsi")
    if one < 0 or other < (0 if shifts else 1) or (shifts and other > _MOST_SHIFT):
        return None
    return _OF_NATURALS[name](one, other)
