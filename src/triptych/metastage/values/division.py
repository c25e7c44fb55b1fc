"""Divisions by a zero that is known while tracing: they fail when they run, and tracing does not know if they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.simt import DIVISOR
from triptych.metastage.trace.checks import check, check_facts
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.conversion import constant
from triptych.metastage.values.promotion import TYPES, TypeInfo

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
