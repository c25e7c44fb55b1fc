"""Pattern matching on values: terms are written as tuples and compared with operations."""

from __future__ import annotations

from typing import Any, TypeAlias

from triptych.ir.handles import Operation, Value
from triptych.ir.types import word_of
from triptych.kernel_ir.dialects.kernel_operations import constant_of, defining_op

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
