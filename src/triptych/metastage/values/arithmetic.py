"""Arithmetic operators as operations on raw MLIR values of one type, with Python's meaning; a division by a zero that
is known while tracing fails when it runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from triptych.hooks import COMPARISONS as COMPARE_PYTHON
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.simt import DIVISOR
from triptych.metastage.trace.checks import check, check_facts
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.conversion import compare, constant, convert
from triptych.metastage.values.promotion import TYPES, TypeInfo
from triptych.support.float_formats import FLOAT_FORMATS

INSTEAD = "test the divisor first: `a // b if b != 0 else ...`"
_DIVISIONS = ("/", "//", "%")
_UNEQUAL = 1
"""A predicate of `arith.cmpi`."""


def checked_divisor(trace: Trace, info: TypeInfo, divisor: Value, title: str, **facts: str) -> Value:
    """A run-time divisor. A host function fails at once if it is zero, as Python does; a kernel where it matters."""
    if trace.kernel is not None:
        attributes = check_facts(trace, "DivisionByZeroError", title, **facts)
        return trace.value(DIVISOR, (divisor,), info.mlir, attributes)
    nonzero = trace.value(
        "arith.cmpi", (divisor, constant(trace, 0, info)), "i1", {"predicate": trace.builder.integer("i64", _UNEQUAL)}
    )
    check(trace, nonzero, "DivisionByZeroError", title, **facts)
    return divisor


def known_divisor(trace: Trace, op: str, info: TypeInfo, right: object) -> int | float | None:
    """The divisor of `//` and `%`, if it is a number of Python; a zero counts as one that only the run knows.

    Where the division is certain to happen, a zero is Python's error.
    """
    if op not in ("//", "%") or not isinstance(right, int | float):
        return None
    if right != 0 or info.kind == "float":
        return right
    if not trace.region.dynamic:
        raise ZeroDivisionError("integer division or modulo by zero")
    return None


def evaluated(trace: Trace, operation: Callable[[Any, Any], Any], op: str, left: object, right: object) -> Any:
    """What Python's operator makes of two numbers; where it divides by zero, the program does when it gets there."""
    try:
        return operation(left, right)
    except ZeroDivisionError as error:
        if op not in _DIVISIONS or not trace.region.dynamic:
            raise
        check(trace, constant(trace, False, TYPES["Boolean"]), "DivisionByZeroError", str(error), instead=INSTEAD)
        return operation(left, 1)  # of the right type, and never used


_SIGNED = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_UNSIGNED = {"==": 0, "!=": 1, "<": 6, "<=": 7, ">": 8, ">=": 9}
_FLOAT = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13}
_INTEGER_OPERATIONS = {
    "+": "arith.addi",
    "-": "arith.subi",
    "*": "arith.muli",
    "&": "arith.andi",
    "|": "arith.ori",
    "^": "arith.xori",
}
_FLOAT_OPERATIONS = {"+": "arith.addf", "-": "arith.subf", "*": "arith.mulf", "/": "arith.divf"}


def binary(trace: Trace, op: str, info: TypeInfo, left: Value, right: Value, divisor: int | float | None) -> Value:
    """`left op right` in the type `info`; `divisor` is the right operand when it is a known constant."""
    if info.kind == "float":
        if op in ("//", "%"):
            return _float_floor(trace, op, info, left, right)
        contraction = trace.contraction.attributes if op != "/" else None
        return trace.value(_FLOAT_OPERATIONS[op], (left, right), info.mlir, contraction)
    if op in ("//", "%"):
        return _integer_floor(trace, op, info, left, right, divisor)
    return trace.value(_INTEGER_OPERATIONS[op], (left, right), info.mlir)


def comparison(trace: Trace, op: str, info: TypeInfo, left: Value, right: Value) -> Value:
    if info.kind == "float":
        return compare(trace, "arith.cmpf", _FLOAT[op], left, right)
    predicates = _SIGNED if info.kind == "int" else _UNSIGNED
    return compare(trace, "arith.cmpi", predicates[op], left, right)


def mixed_comparison(trace: Trace, op: str, info: TypeInfo, integer: Value, number: Value) -> Value:
    """An integer of more bits than a float has compared with a Float64 as Python compares them: exactly.

    The integer is rounded first. That keeps the order, so only where both are then equal do the integers decide. There
    the float is whole; it is no integer of the type only as the power of two above all of them.
    """
    wide = TYPES["Float64"]
    rounded = convert(trace, integer, info, wide)
    beyond = comparison(trace, "==", wide, number, constant(trace, float(info.bounds[1] + 1), wide))
    whole = comparison(trace, op, info, integer, convert(trace, number, wide, info))
    below = constant(trace, op in ("<", "<=", "!="), TYPES["Boolean"])
    close = trace.value("arith.select", (beyond, below, whole), "i1")
    equal = comparison(trace, "==", wide, rounded, number)
    return trace.value("arith.select", (equal, close, comparison(trace, op, wide, rounded, number)), "i1")


def against_constant(op: str, info: TypeInfo, constant: int | float) -> tuple[str, int] | bool:
    """How to compare integers (or truth values) of a type with any Python number exactly: with which integer of the
    type, or what every one of them answers."""
    if isinstance(constant, float) and not math.isfinite(constant):
        return bool(COMPARE_PYTHON[op](0, constant))
    floor = math.floor(constant)
    if floor != constant:
        if op in ("==", "!="):
            return op == "!="
        op = "<=" if op in ("<", "<=") else ">"
    low, high = (0, 1) if info.kind == "bool" else info.bounds
    return (op, floor) if low <= floor <= high else bool(COMPARE_PYTHON[op](low, floor))


def negative(trace: Trace, info: TypeInfo, value: Value) -> Value:
    if info.kind == "float":
        return trace.value("arith.negf", (value,), info.mlir)
    return trace.value("arith.subi", (constant(trace, 0, info), value), info.mlir)


def absolute(trace: Trace, info: TypeInfo, value: Value) -> Value:
    if info.kind == "float":
        return trace.value("math.absf", (value,), info.mlir)
    if info.kind == "uint":
        return value
    below = comparison(trace, "<", info, value, constant(trace, 0, info))
    return trace.value("arith.select", (below, negative(trace, info, value), value), info.mlir)


def _integer_floor(
    trace: Trace, op: str, info: TypeInfo, left: Value, right: Value, divisor: int | float | None
) -> Value:
    """Python's `//` and `%`: toward minus infinity, the remainder with the divisor's sign."""
    if divisor is None:
        right = checked_divisor(trace, info, right, "integer division or modulo by zero", instead=INSTEAD)
    if info.kind == "uint":
        return trace.value("arith.divui" if op == "//" else "arith.remui", (left, right), info.mlir)
    if divisor is not None and divisor > 0:
        return _floor_by_positive(trace, op, info, left, right)
    # The one quotient that does not fit, MIN // -1, traps on x86: divide by 1 there and negate.
    is_minus_one = comparison(trace, "==", info, right, constant(trace, -1, info))
    safe = trace.value("arith.select", (is_minus_one, constant(trace, 1, info), right), info.mlir)
    remainder = trace.value("arith.remsi", (left, safe), info.mlir)
    zero = constant(trace, 0, info)
    uneven = comparison(trace, "!=", info, remainder, zero)
    signs = trace.value("arith.xori", (remainder, right), info.mlir)
    opposite = comparison(trace, "<", info, signs, zero)
    adjust = trace.value("arith.andi", (uneven, opposite), "i1")
    if op == "%":
        adjusted = trace.value("arith.addi", (remainder, right), info.mlir)
        return trace.value("arith.select", (adjust, adjusted, remainder), info.mlir)
    toward_zero = trace.value("arith.divsi", (left, safe), info.mlir)
    quotient = trace.value("arith.select", (is_minus_one, negative(trace, info, left), toward_zero), info.mlir)
    lower = trace.value("arith.subi", (quotient, constant(trace, 1, info)), info.mlir)
    return trace.value("arith.select", (adjust, lower, quotient), info.mlir)


def _floor_by_positive(trace: Trace, op: str, info: TypeInfo, left: Value, right: Value) -> Value:
    """The common case, a positive constant divisor: one division and a correction for negative remainders."""
    remainder = trace.value("arith.remsi", (left, right), info.mlir)
    below = comparison(trace, "<", info, remainder, constant(trace, 0, info))
    if op == "%":
        adjusted = trace.value("arith.addi", (remainder, right), info.mlir)
        return trace.value("arith.select", (below, adjusted, remainder), info.mlir)
    quotient = trace.value("arith.divsi", (left, right), info.mlir)
    lower = trace.value("arith.subi", (quotient, constant(trace, 1, info)), info.mlir)
    return trace.value("arith.select", (below, lower, quotient), info.mlir)


def _float_floor(trace: Trace, op: str, info: TypeInfo, left: Value, right: Value) -> Value:
    """CPython's own algorithm for float `%` and `//`, step by step, so that results agree to the last bit."""
    if info.mlir in FLOAT_FORMATS:
        wide = TYPES["Float32"]
        left, right = convert(trace, left, info, wide), convert(trace, right, info, wide)
        return convert(trace, _float_floor(trace, op, wide, left, right), wide, info)
    zero = constant(trace, 0.0, info)
    remainder = trace.value("arith.remf", (left, right), info.mlir)
    uneven = comparison(trace, "!=", info, remainder, zero)
    opposite = trace.value(
        "arith.xori",
        (comparison(trace, "<", info, right, zero), comparison(trace, "<", info, remainder, zero)),
        "i1",
    )
    adjust = trace.value("arith.andi", (uneven, opposite), "i1")
    if op == "%":
        adjusted = trace.value("arith.addf", (remainder, right), info.mlir)
        modulo = trace.value("arith.select", (adjust, adjusted, remainder), info.mlir)
        signed_zero = trace.value("math.copysign", (zero, right), info.mlir)
        return trace.value("arith.select", (uneven, modulo, signed_zero), info.mlir)
    exact = trace.value("arith.subf", (left, remainder), info.mlir)
    quotient = trace.value("arith.divf", (exact, right), info.mlir)
    lower = trace.value("arith.subf", (quotient, constant(trace, 1.0, info)), info.mlir)
    quotient = trace.value("arith.select", (adjust, lower, quotient), info.mlir)
    floor = trace.value("math.floor", (quotient,), info.mlir)
    above = trace.value("arith.subf", (quotient, floor), info.mlir)
    short = comparison(trace, ">", info, above, constant(trace, 0.5, info))
    next_up = trace.value("arith.addf", (floor, constant(trace, 1.0, info)), info.mlir)
    rounded = trace.value("arith.select", (short, next_up, floor), info.mlir)
    sign = trace.value("arith.divf", (left, right), info.mlir)
    signed_zero = trace.value("math.copysign", (zero, sign), info.mlir)
    nonzero = comparison(trace, "!=", info, quotient, zero)
    return trace.value("arith.select", (nonzero, rounded, signed_zero), info.mlir)


def shift(trace: Trace, op: str, info: TypeInfo, left: Value, count: Value, counted: TypeInfo) -> Value:
    """`left` shifted by a run-time count of type `counted`; it is compared before it is cut to the type of `left`."""
    if counted.kind == "int":
        positive = comparison(trace, ">=", counted, count, constant(trace, 0, counted))
        check(trace, positive, "NegativeShiftError", "negative shift count", expected="a count of 0 or more")
    wide = TYPES["Uint128" if counted.width > 64 else "Uint64"]
    count = convert(trace, count, counted, wide)
    within = comparison(trace, "<", wide, count, constant(trace, info.width, wide))
    count = trace.value("arith.select", (within, count, constant(trace, info.width - 1, wide)), wide.mlir)
    shifted = _shifted(trace, op, info, left, convert(trace, count, wide, info))
    if op == ">>" and info.kind == "int":
        return shifted
    return trace.value("arith.select", (within, shifted, constant(trace, 0, info)), info.mlir)


def shift_by_constant(trace: Trace, op: str, info: TypeInfo, left: Value, count: int) -> Value:
    if count >= info.width and not (op == ">>" and info.kind == "int"):
        return constant(trace, 0, info)
    return _shifted(trace, op, info, left, constant(trace, min(count, info.width - 1), info))


def _shifted(trace: Trace, op: str, info: TypeInfo, left: Value, count: Value) -> Value:
    """A shift by less than the width; shifting by more moves every bit out, which the callers see to."""
    operation = "arith.shli" if op == "<<" else "arith.shrsi" if info.kind == "int" else "arith.shrui"
    return trace.value(operation, (left, count), info.mlir)
