"""Vectors of MLIR of rank 1: the few operations that make, pick and join their elements.

Input and output: raw MLIR values. Element types are written as MLIR writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.ir.handles import Value
from triptych.metastage.trace.trace import Trace

_RUN_TIME_POSITION = -(2**63)
"""What `vector.extract` writes in the list of positions for one that is an operand."""


def vector_type(count: int, element: str) -> str:
    return f"vector<{count}x{element}>"


def splat(trace: Trace, number: Value, count: int, element: str) -> Value:
    """A vector that has one number everywhere."""
    return trace.value("vector.broadcast", (number,), vector_type(count, element))


def join(trace: Trace, numbers: Sequence[Any], element: str) -> Value:
    """A vector of the given numbers."""
    return trace.value("vector.from_elements", tuple(numbers), vector_type(len(numbers), element))


def pick(trace: Trace, vector: Value, count: int, positions: Sequence[int], element: str) -> Value:
    """The elements of a vector of `count` at known positions, as a vector; nothing is emitted for all in order."""
    if list(positions) == list(range(count)):
        return vector
    mask = trace.builder.integers(positions)
    return trace.value("vector.shuffle", (vector, vector), vector_type(len(positions), element), {"mask": mask})


def extract(trace: Trace, vector: Value, position: int, element: str) -> Value:
    """One element at a known position."""
    return _extract(trace, (vector,), position, element)


def extract_dynamic(trace: Trace, vector: Value, position: Value, element: str) -> Value:
    """One element at a run-time position, an integer that the caller knows to lie inside."""
    index = trace.value("arith.index_cast", (position,), "index")
    return _extract(trace, (vector, index), _RUN_TIME_POSITION, element)


def _extract(trace: Trace, operands: tuple[Any, ...], position: int, element: str) -> Value:
    where = {"static_position": trace.builder.attribute(f"array<i64: {position}>")}
    return trace.value("vector.extract", operands, element, where)


def all_of(trace: Trace, booleans: Value) -> Value:
    """Whether a vector of i1 is true everywhere."""
    return _reduction(trace, "and", booleans)


def any_of(trace: Trace, booleans: Value) -> Value:
    """Whether a vector of i1 is true somewhere."""
    return _reduction(trace, "or", booleans)


def _reduction(trace: Trace, kind: str, booleans: Value) -> Value:
    return trace.value(
        "vector.reduction", (booleans,), "i1", {"kind": trace.builder.attribute(f"#vector.kind<{kind}>")}
    )
