"""Divisions by a zero that is known while tracing: they fail when they happen, and nobody knows yet whether they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.metastage.checks import check
from triptych.metastage.conversion import constant
from triptych.metastage.promotion import TYPES, TypeInfo
from triptych.metastage.tracing import Trace

INSTEAD = "test the divisor first: `a // b if b != 0 else ...`"
_DIVISIONS = ("/", "//", "%")


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
